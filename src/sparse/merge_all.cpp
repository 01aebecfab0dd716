#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <dsop/types.hpp>

#include "sparse/merge.hpp"

namespace dsop::sparse {
namespace {

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

}  // namespace

template <class T>
SparseVectorView<T> merge_all(SparseVectorView<T> first, std::span<SparseVectorView<T>> others, std::span<T> memory) {
  const auto for_each = [&](auto visit) {
    visit(first);
    for (SparseVectorView<T>& x : others) visit(x);
  };
  std::size_t total = 0;
  for_each([&](const SparseVectorView<T>& x) { total += x.indices.size(); });
  T* const values = memory.data();
  Index* const indices = reinterpret_cast<Index*>(values + total);
  constexpr T nothing = T{-0.0};  // what added leaves everything as it is, also -0
  std::array<T, window> sums;
  sums.fill(nothing);
  Marks marks;
  std::size_t count = 0;
  for (;;) {
    std::size_t begin = first.dimension;
    for_each([&](const SparseVectorView<T>& x) {
      if (!x.indices.empty()) begin = std::min<std::size_t>(begin, x.indices.front());
    });
    if (begin == first.dimension) return {first.dimension, {indices, count}, {values, count}};
    for_each([&](SparseVectorView<T>& x) {
      std::size_t e = 0;
      for (; e < x.indices.size() && x.indices[e] - begin < window; ++e) {
        const std::size_t i = x.indices[e] - begin;
        sums[i] += x.values[e];
        marks.set(i);
      }
      x.indices = x.indices.subspan(e);
      x.values = x.values.subspan(e);
    });
    marks.take([&](std::size_t i) {
      indices[count] = static_cast<Index>(begin + i);
      values[count++] = std::exchange(sums[i], nothing);
    });
  }
}

#define INSTANTIATE(T) \
  template SparseVectorView<T> merge_all(SparseVectorView<T>, std::span<SparseVectorView<T>>, std::span<T>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::sparse
