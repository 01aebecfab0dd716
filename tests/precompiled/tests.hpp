// What most tests include, compiled once.
#include <catch2/catch.hpp>

#include "../../src/precompiled/library.hpp"
