// What a rank will tell the others of an exception of its own.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace dsop {

/// The text of what `check` throws, or "" if it throws nothing.
template <class Check>
std::string error_of(Check check) {
  try {
    check();
    return {};
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace dsop
