// The error of a wrong argument.
#pragma once

#include <sstream>
#include <string>

#include <dsop/errors.hpp>

namespace dsop {

/// Throws ArgumentError: "a.rows is 3, expected 4".
template <class Value, class Expected>
[[noreturn]] void refuse(const std::string& argument, const Value& value, const Expected& expected) {
  std::ostringstream text;
  text << argument << " is " << value << ", expected " << expected;
  throw ArgumentError(text.str());
}

}  // namespace dsop
