// Factors made from a seed: small whole numbers, so that sums of products are exact in f32 whatever their order, or
// fractions, so that order shows in the bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dsop/views.hpp>

namespace dsop::bench {

/// A well-mixed function of its argument (the finaliser of splitmix64).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

enum class Values { whole, fractions };

/// A rank's pairs and their memory; every rank can make every other's. Whole numbers lie in -4 .. 4.
template <class T>
class InputFactors {
 public:
  /// `gap` elements that belong to nobody lie between two rows.
  InputFactors(std::uint64_t seed, int rank, std::size_t pairs, std::size_t n, std::size_t m,
               Values values = Values::whole, std::size_t gap = 0)
      : a_(make(mix(seed) + 2 * static_cast<std::uint64_t>(rank), pairs * (n + gap), values)),
        b_(make(mix(seed) + 2 * static_cast<std::uint64_t>(rank) + 1, pairs * (m + gap), values)),
        view_{{a_.data(), pairs, n, n + gap}, {b_.data(), pairs, m, m + gap}} {}
  InputFactors(const InputFactors&) = delete;
  InputFactors(InputFactors&&) = default;

  const Factors<T>& view() const { return view_; }

 private:
  static std::vector<T> make(std::uint64_t stream, std::size_t count, Values values) {
    std::vector<T> elements(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = mix(mix(stream) + i);
      elements[i] = values == Values::whole ? static_cast<T>(static_cast<int>(bits % 9) - 4)
                                            : static_cast<T>(bits >> 40) / static_cast<T>(1 << 23) - T{1};
    }
    return elements;
  }

  std::vector<T> a_;
  std::vector<T> b_;
  Factors<T> view_;
};

/// Adds scale times row i of a^T b to `row` (m elements), in the plainest way there is.
template <class T>
void add_reference_row(const Factors<T>& factors, std::size_t i, T scale, std::vector<T>& row) {
  for (std::size_t p = 0; p < factors.a.rows; ++p)
    for (std::size_t j = 0; j < row.size(); ++j) row[j] += scale * factors.a.row(p)[i] * factors.b.row(p)[j];
}

}  // namespace dsop::bench
