// Whether views share memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include <dsop/sparse.hpp>

namespace dsop {

/// Whether the ranges of memory from the first element to the last meet.
template <class T>
bool overlap(const MatrixView<const T>& left, const MatrixView<const T>& right) {
  if (left.rows == 0 || right.rows == 0 || left.columns == 0 || right.columns == 0) return false;
  const auto first = [](const auto& view) { return reinterpret_cast<std::uintptr_t>(view.data); };
  const auto last = [](const auto& view) {
    return reinterpret_cast<std::uintptr_t>(view.row(view.rows - 1) + view.columns - 1);
  };
  return first(left) <= last(right) && first(right) <= last(left);
}

template <class T>
bool overlap(const MatrixView<const T>& left, const SparseMatrixView<T>& right) {
  return overlap(left, MatrixView<const T>(right.values.data(), 1, right.values.size()));
}

template <class T>
bool overlap(const MatrixView<const T>& left, const SparseFactors<T>& factors) {
  const auto overlaps = [&](const auto& factor) { return overlap<T>(left, factor); };
  return std::visit(overlaps, factors.a) || std::visit(overlaps, factors.b);
}

/// As overlap(), but blocks of columns of one matrix share nothing.
template <class T>
bool share_elements(const MatrixView<const T>& left, const MatrixView<const T>& right) {
  if (!overlap(left, right)) return false;
  if (left.stride != right.stride) return true;
  const std::size_t stride_bytes = left.stride * sizeof(T);
  const auto address = [](const auto& view) { return reinterpret_cast<std::uintptr_t>(view.data); };
  // From a first column of left's to the next first column of right's.
  const std::size_t past = (address(right) % stride_bytes + stride_bytes - address(left) % stride_bytes) % stride_bytes;
  return past < left.columns * sizeof(T) || past + right.columns * sizeof(T) > stride_bytes;
}

}  // namespace dsop
