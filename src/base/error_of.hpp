// What a rank will tell the others of an exception of its own.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace dsop {

/// Within a handler: the text of what was thrown; never "", which stands for no error.
inline std::string text_of_caught() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return *error.what() == 0 ? "an exception without a text" : error.what();
  }
}

/// The text of what `check` throws, or "" if it throws nothing.
template <class Check>
std::string error_of(Check check) {
  try {
    check();
    return {};
  } catch (const std::exception&) {
    return text_of_caught();
  }
}

}  // namespace dsop
