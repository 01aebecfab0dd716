// Whether views share memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include <dsop/sparse.hpp>

namespace dsop {

/// From the first element's address to the last one's.
struct MemoryRange {
  bool empty() const { return first > last; }

  std::uintptr_t first = 1;
  std::uintptr_t last = 0;
};

inline bool meet(const MemoryRange& left, const MemoryRange& right) {
  return left.first <= right.last && right.first <= left.last;
}

template <class T>
MemoryRange memory_range(const MatrixView<T>& view) {
  if (view.rows == 0 || view.columns == 0) return {};
  return {reinterpret_cast<std::uintptr_t>(view.data),
          reinterpret_cast<std::uintptr_t>(view.row(view.rows - 1) + view.columns - 1)};
}

template <class T>
MemoryRange memory_range(std::span<const T> values) {
  return memory_range(MatrixView<const T>(values.data(), 1, values.size()));
}

template <class T>
MemoryRange memory_range(const FactorView<T>& factor) {
  if (const auto* const sparse = std::get_if<SparseMatrixView<T>>(&factor)) return memory_range(sparse->values);
  return memory_range(std::get<MatrixView<const T>>(factor));
}

/// Whether their ranges of memory meet.
template <class T>
bool overlap(const MatrixView<const T>& left, const MatrixView<const T>& right) {
  return meet(memory_range(left), memory_range(right));
}

template <class T>
bool overlap(const MatrixView<const T>& left, const SparseFactors<T>& factors) {
  const MemoryRange range = memory_range(left);
  return meet(range, memory_range(factors.a)) || meet(range, memory_range(factors.b));
}

/// As overlap(), but blocks of columns of one matrix share nothing.
template <class T>
bool share_elements(const MatrixView<const T>& left, const MatrixView<const T>& right) {
  if (!overlap(left, right)) return false;
  if (left.rows == 1 && right.rows == 1) return true;
  const std::size_t stride = left.rows == 1 ? right.stride : left.stride;  // of one row it says nothing
  if (right.rows != 1 && right.stride != stride) return true;
  const std::size_t stride_bytes = stride * sizeof(T);
  const auto address = [](const auto& view) { return reinterpret_cast<std::uintptr_t>(view.data); };
  // From a first column of left's to the next first column of right's.
  const std::size_t past = (address(right) % stride_bytes + stride_bytes - address(left) % stride_bytes) % stride_bytes;
  return past < left.columns * sizeof(T) || past + right.columns * sizeof(T) > stride_bytes;
}

}  // namespace dsop
