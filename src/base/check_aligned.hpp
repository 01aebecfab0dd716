// Whether elements lie where a processor may load them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/refuse.hpp"

namespace dsop {

/// Throws ArgumentError naming `argument`, or its `member`, if `data` is no address of a T: for streaming stores, and
/// for C++, it must be.
template <class T>
void check_aligned(const T* data, std::string_view argument, std::string_view member = "") {
  const auto beyond = reinterpret_cast<std::uintptr_t>(data) % alignof(T);
  if (beyond != 0)
    refuse(std::string(argument).append(member),
           "at an address " + std::to_string(beyond) + " bytes beyond an element's",
           "a multiple of " + std::to_string(alignof(T)));
}

}  // namespace dsop
