// What outlives a program's statics.
#pragma once

#include <memory>
#include <utility>

namespace dsop {

/// For what calls use. A program may end, with exit(), while its progress thread runs one, which must find it still.
template <class T>
const T* never_destroyed(T value) {
  return std::make_unique<T>(std::move(value)).release();
}

}  // namespace dsop
