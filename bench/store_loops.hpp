// Loops that write a matrix and compute nothing: the floor under every product.
#pragma once

#include <string_view>
#include <vector>

#include <dsop/views.hpp>

namespace dsop::bench {

template <class T>
struct StoreLoop {
  std::string_view name;
  void (*write_zeros)(MatrixView<T> c);  ///< on the OpenMP threads of the calling thread
};

/// C's library call, vectors a row after the other, vectors eight rows side by side, and, on x86-64, streaming stores.
template <class T>
std::vector<StoreLoop<T>> store_loops();

}  // namespace dsop::bench
