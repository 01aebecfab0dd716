#include "sparse/vector.hpp"

#include <algorithm>
#include <string>

#include <dsop/errors.hpp>
#include <dsop/types.hpp>

#include "sparse/merge.hpp"

namespace dsop::sparse {
namespace {

template <class T>
void check_room_for_pairs(std::size_t pairs, std::span<T> memory) {
  check_room(pairs * (sizeof(T) + sizeof(Index)), memory.size_bytes());
}

template <class T>
std::span<T> dense_in(std::span<T> memory, std::size_t dimension) {
  check_room(dimension * sizeof(T), memory.size_bytes());
  return memory.first(dimension);
}

}  // namespace

void check_room(std::size_t bytes, std::size_t room_bytes) {
  if (bytes > room_bytes)
    throw TransportError("sparse vectors that were received take " + std::to_string(bytes) +
                         " bytes to sum, expected at most " + std::to_string(room_bytes) +
                         " of what their senders announced");
}

template <class T>
SparseVectorView<T> sum(const SparseVectorView<T>& left, const SparseVectorView<T>& right, std::span<T> memory,
                        std::size_t most) {
  const std::size_t total = left.indices.size() + right.indices.size();
  if (!left.dense() && !right.dense() && total <= std::min(most, most_indices<T>(left.dimension))) {
    check_room_for_pairs(total, memory);
    return merge(left, right, memory);
  }
  const std::span<T> dense = dense_in(memory, left.dimension);
  expand(left, dense);
  add_scaled(dense, T{1}, right);
  return {left.dimension, {}, dense};
}

template <class T>
SparseVectorView<T> sum_all(std::span<SparseVectorView<T>> vectors, std::span<T> memory, std::size_t most) {
  std::size_t total = 0;
  bool sparse = true;
  for (const SparseVectorView<T>& x : vectors) {
    total += x.indices.size();
    sparse = sparse && !x.dense();
  }
  const std::size_t dimension = vectors.front().dimension;
  if (sparse && total <= std::min(most, most_indices<T>(dimension))) {
    check_room_for_pairs(total, memory);
    return merge_all(vectors.front(), vectors.subspan(1), memory);
  }
  const std::span<T> dense = dense_in(memory, dimension);
  expand(vectors.front(), dense);
  for (const SparseVectorView<T>& x : vectors.subspan(1)) add_scaled(dense, T{1}, x);
  return {dimension, {}, dense};
}

template <class T>
SparseVectorView<T> concatenate(std::span<const SparseVectorView<T>> parts, std::span<T> memory) {
  std::size_t dimension = 0;
  std::size_t total = 0;
  for (const SparseVectorView<T>& x : parts) {
    dimension += x.dimension;
    total += x.dense() ? count_nonzeros(x.values) : x.indices.size();
  }
  T* const values = memory.data();
  Index* const indices = reinterpret_cast<Index*>(values + total);
  const bool sparse = total <= most_indices<T>(dimension);
  if (sparse) check_room_for_pairs(total, memory);
  const std::span<T> dense = sparse ? std::span<T>() : dense_in(memory, dimension);
  std::size_t offset = 0;
  std::size_t count = 0;
  for (const SparseVectorView<T>& x : parts) {
    if (!sparse) {
      expand(x, dense.subspan(offset, x.dimension));
    } else {
      const SparseVectorView<T> added = x.dense() ? compress(x.values, indices + count, values + count) : x;
      for (std::size_t e = 0; e < added.indices.size(); ++e) {
        indices[count + e] = static_cast<Index>(offset + added.indices[e]);
        values[count + e] = added.values[e];
      }
      count += added.indices.size();
    }
    offset += x.dimension;
  }
  if (!sparse) return {dimension, {}, dense};
  return {dimension, {indices, count}, {values, count}};
}

template <class T>
SparseVectorView<T> copy(const SparseVectorView<T>& x, std::span<T> memory) {
  check_room(bytes_of(x), memory.size_bytes());
  std::copy(x.values.begin(), x.values.end(), memory.begin());
  Index* const indices = reinterpret_cast<Index*>(memory.data() + x.values.size());
  std::copy(x.indices.begin(), x.indices.end(), indices);
  return {x.dimension, {indices, x.indices.size()}, {memory.data(), x.values.size()}};
}

template <class T>
SparseVectorView<T> expand(const SparseVectorView<T>& x, std::span<T> dense) {
  if (x.dense())
    std::copy(x.values.begin(), x.values.end(), dense.begin());
  else
    std::fill_n(dense.begin(), x.dimension, T{0});
  for (std::size_t e = 0; e < x.indices.size(); ++e) dense[x.indices[e]] = x.values[e];
  return {x.dimension, {}, dense.first(x.dimension)};
}

template <class T>
std::size_t count_nonzeros(std::span<const T> dense) {
  std::size_t count = 0;
  for (const T value : dense) count += value != T{0} ? 1 : 0;
  return count;
}

template <class T>
SparseVectorView<T> compress(std::span<const T> dense, Index* indices, T* values) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < dense.size(); ++i)
    if (dense[i] != T{0}) {
      indices[count] = static_cast<Index>(i);
      values[count++] = dense[i];
    }
  return {dense.size(), {indices, count}, {values, count}};
}

#define INSTANTIATE(T)                                                                                                 \
  template SparseVectorView<T> sum(const SparseVectorView<T>&, const SparseVectorView<T>&, std::span<T>, std::size_t); \
  template SparseVectorView<T> sum_all(std::span<SparseVectorView<T>>, std::span<T>, std::size_t);                     \
  template SparseVectorView<T> concatenate(std::span<const SparseVectorView<T>>, std::span<T>);                        \
  template SparseVectorView<T> copy(const SparseVectorView<T>&, std::span<T>);                                         \
  template SparseVectorView<T> expand(const SparseVectorView<T>&, std::span<T>);                                       \
  template std::size_t count_nonzeros(std::span<const T>);                                                             \
  template SparseVectorView<T> compress(std::span<const T>, Index*, T*);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::sparse
