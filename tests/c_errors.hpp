// What tests of dsop.h say about errors.
#pragma once

#include <dsop/dsop.h>

#include <catch2/catch.hpp>
#include <string>

namespace dsop::tests {

// The text of a call that failed as expected.
inline std::string error_of(int status, int expected = DSOP_ERROR_ARGUMENT) {
  CHECK(status == expected);
  return status == DSOP_SUCCESS ? "no error" : dsop_last_error();
}

inline bool contains(const std::string& text, const std::string& words) {
  INFO(text);
  return text.find(words) != std::string::npos;
}

}  // namespace dsop::tests
