// What the files that read dsop-bench's command line include, compiled once.
#include <CLI/CLI.hpp>

#include "../../src/precompiled/library.hpp"
