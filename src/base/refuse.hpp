// The error of a wrong argument.
#pragma once

#include <sstream>
#include <string>

#include <dsop/errors.hpp>

#include "base/shown.hpp"

namespace dsop {

/// Throws ArgumentError: "a.rows is 3, expected 4". A value that is long or holds control characters is shown().
template <class Value, class Expected>
[[noreturn]] void refuse(const std::string& argument, const Value& value, const Expected& expected) {
  std::ostringstream found, text;
  found << value;
  text << argument << " is " << shown(found.str()) << ", expected " << expected;
  throw ArgumentError(text.str());
}

}  // namespace dsop
