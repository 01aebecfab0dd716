#include "sparse/stream.hpp"

#include <algorithm>

namespace dsop::sparse {
namespace {

// Both sparse. The result's values stand first in memory, the indices behind room for all values.
template <class T>
Stream<T> merge(const Stream<T>& left, const Stream<T>& right, std::span<T> memory) {
  T* const values = memory.data();
  Index* const indices = reinterpret_cast<Index*>(values + left.indices.size() + right.indices.size());
  std::size_t l = 0;
  std::size_t r = 0;
  std::size_t count = 0;
  while (l < left.indices.size() && r < right.indices.size()) {
    const Index from_left = left.indices[l];
    const Index from_right = right.indices[r];
    const bool take_left = from_left <= from_right;
    const bool take_right = from_right <= from_left;
    indices[count] = std::min(from_left, from_right);
    values[count] =
        take_left && take_right ? left.values[l] + right.values[r] : (take_left ? left.values[l] : right.values[r]);
    l += take_left ? 1 : 0;
    r += take_right ? 1 : 0;
    ++count;
  }
  const auto append = [&](const Stream<T>& x, std::size_t first) {
    std::copy(x.indices.begin() + static_cast<std::ptrdiff_t>(first), x.indices.end(), indices + count);
    std::copy(x.values.begin() + static_cast<std::ptrdiff_t>(first), x.values.end(), values + count);
    count += x.indices.size() - first;
  };
  append(left, l);
  append(right, r);
  return {left.dimension, {indices, count}, {values, count}};
}

}  // namespace

template <class T>
Stream<T> sum(const Stream<T>& left, const Stream<T>& right, std::span<T> memory) {
  if (!left.dense() && !right.dense() && left.indices.size() + right.indices.size() <= most_indices<T>(left.dimension))
    return merge(left, right, memory);
  const std::span<T> dense = memory.first(left.dimension);
  expand(left, dense);
  add_scaled(dense, T{1}, right);
  return {left.dimension, {}, dense};
}

template <class T>
void expand(const Stream<T>& x, std::span<T> dense) {
  if (x.dense()) {
    std::copy(x.values.begin(), x.values.end(), dense.begin());
    return;
  }
  std::fill_n(dense.begin(), x.dimension, T{0});
  for (std::size_t e = 0; e < x.indices.size(); ++e) dense[x.indices[e]] = x.values[e];
}

template <class T>
std::size_t count_nonzeros(std::span<const T> dense) {
  std::size_t count = 0;
  for (const T value : dense) count += value != T{0} ? 1 : 0;
  return count;
}

template <class T>
Stream<T> compress(std::span<const T> dense, Index* indices, T* values) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < dense.size(); ++i)
    if (dense[i] != T{0}) {
      indices[count] = static_cast<Index>(i);
      values[count++] = dense[i];
    }
  return {dense.size(), {indices, count}, {values, count}};
}

template Stream<float> sum(const Stream<float>&, const Stream<float>&, std::span<float>);
template Stream<double> sum(const Stream<double>&, const Stream<double>&, std::span<double>);
template void expand(const Stream<float>&, std::span<float>);
template void expand(const Stream<double>&, std::span<double>);
template std::size_t count_nonzeros(std::span<const float>);
template std::size_t count_nonzeros(std::span<const double>);
template Stream<float> compress(std::span<const float>, Index*, float*);
template Stream<double> compress(std::span<const double>, Index*, double*);

}  // namespace dsop::sparse
