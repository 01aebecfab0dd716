#include "sparse/stream.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

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

// As many elements as are made at a time: few enough to stay in the cache.
constexpr std::size_t window = 1 << 14;

// Which of a window's elements are there: a bit for each, and a bit for each word of those.
class Marks {
 public:
  void set(std::size_t i) {
    bits_[i / 64] |= std::uint64_t{1} << (i % 64);
    words_[i / 4096] |= std::uint64_t{1} << (i / 64 % 64);
  }
  /// Calls visit(i) for each that is set, rising, and clears it.
  template <class Visit>
  void take(Visit visit) {
    for (std::size_t group = 0; group < words_.size(); ++group)
      for_each_bit(std::exchange(words_[group], 0), [&](std::size_t w) {
        const std::size_t word = 64 * group + w;
        for_each_bit(std::exchange(bits_[word], 0), [&](std::size_t bit) { visit(64 * word + bit); });
      });
  }

 private:
  template <class Visit>
  static void for_each_bit(std::uint64_t bits, Visit visit) {
    for (; bits != 0; bits &= bits - 1) visit(static_cast<std::size_t>(std::countr_zero(bits)));
  }

  std::array<std::uint64_t, window / 64> bits_{};
  std::array<std::uint64_t, window / 4096> words_{};
};

// All sparse, `total` indices together.
template <class T>
Stream<T> merge_all(std::span<Stream<T>> streams, std::size_t total, std::span<T> memory) {
  const std::size_t dimension = streams.front().dimension;
  T* const values = memory.data();
  Index* const indices = reinterpret_cast<Index*>(values + total);
  std::array<T, window> sums{};
  Marks marks;
  std::size_t count = 0;
  for (;;) {
    std::size_t first = dimension;
    for (const Stream<T>& x : streams)
      if (!x.indices.empty()) first = std::min<std::size_t>(first, x.indices.front());
    if (first == dimension) return {dimension, {indices, count}, {values, count}};
    for (Stream<T>& x : streams) {
      std::size_t e = 0;
      for (; e < x.indices.size() && x.indices[e] - first < window; ++e) {
        const std::size_t i = x.indices[e] - first;
        sums[i] += x.values[e];
        marks.set(i);
      }
      x.indices = x.indices.subspan(e);
      x.values = x.values.subspan(e);
    }
    marks.take([&](std::size_t i) {
      indices[count] = static_cast<Index>(first + i);
      values[count++] = std::exchange(sums[i], T{0});
    });
  }
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
Stream<T> sum_all(std::span<Stream<T>> streams, std::span<T> memory) {
  std::size_t total = 0;
  bool sparse = true;
  for (const Stream<T>& x : streams) {
    total += x.indices.size();
    sparse = sparse && !x.dense();
  }
  const std::size_t dimension = streams.front().dimension;
  if (sparse && total <= most_indices<T>(dimension)) return merge_all(streams, total, memory);
  const std::span<T> dense = memory.first(dimension);
  sum_dense<T>(streams, dense);
  return {dimension, {}, dense};
}

template <class T>
void sum_dense(std::span<const Stream<T>> streams, std::span<T> dense) {
  expand(streams.front(), dense);
  for (const Stream<T>& x : streams.subspan(1)) add_scaled(dense, T{1}, x);
}

template <class T>
Stream<T> concatenate(std::span<const Stream<T>> parts, std::span<T> memory) {
  std::size_t dimension = 0;
  std::size_t total = 0;
  for (const Stream<T>& x : parts) {
    dimension += x.dimension;
    total += x.dense() ? count_nonzeros(x.values) : x.indices.size();
  }
  T* const values = memory.data();
  Index* const indices = reinterpret_cast<Index*>(values + total);
  const bool sparse = total <= most_indices<T>(dimension);
  std::size_t offset = 0;
  std::size_t count = 0;
  for (const Stream<T>& x : parts) {
    if (!sparse) {
      expand(x, memory.subspan(offset, x.dimension));
    } else {
      const Stream<T> added = x.dense() ? compress(x.values, indices + count, values + count) : x;
      for (std::size_t e = 0; e < added.indices.size(); ++e) {
        indices[count + e] = static_cast<Index>(offset + added.indices[e]);
        values[count + e] = added.values[e];
      }
      count += added.indices.size();
    }
    offset += x.dimension;
  }
  if (!sparse) return {dimension, {}, memory.first(dimension)};
  return {dimension, {indices, count}, {values, count}};
}

template <class T>
Stream<T> copy(const Stream<T>& x, std::span<T> memory) {
  std::copy(x.values.begin(), x.values.end(), memory.begin());
  Index* const indices = reinterpret_cast<Index*>(memory.data() + x.values.size());
  std::copy(x.indices.begin(), x.indices.end(), indices);
  return {x.dimension, {indices, x.indices.size()}, {memory.data(), x.values.size()}};
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
template Stream<float> sum_all(std::span<Stream<float>>, std::span<float>);
template Stream<double> sum_all(std::span<Stream<double>>, std::span<double>);
template void sum_dense(std::span<const Stream<float>>, std::span<float>);
template void sum_dense(std::span<const Stream<double>>, std::span<double>);
template Stream<float> concatenate(std::span<const Stream<float>>, std::span<float>);
template Stream<double> concatenate(std::span<const Stream<double>>, std::span<double>);
template Stream<float> copy(const Stream<float>&, std::span<float>);
template Stream<double> copy(const Stream<double>&, std::span<double>);
template void expand(const Stream<float>&, std::span<float>);
template void expand(const Stream<double>&, std::span<double>);
template std::size_t count_nonzeros(std::span<const float>);
template std::size_t count_nonzeros(std::span<const double>);
template Stream<float> compress(std::span<const float>, Index*, float*);
template Stream<double> compress(std::span<const double>, Index*, double*);

}  // namespace dsop::sparse
