// What the programs that read a command line include, compiled once.
#include <CLI/CLI.hpp>

#include "../../precompiled/library.hpp"
