// What most files of dsop-bench include, compiled once.
#include <nlohmann/json.hpp>

#include "../../src/precompiled/library.hpp"
