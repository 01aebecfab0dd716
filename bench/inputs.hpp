// Factors made from a seed: small whole numbers, so that sums of products are exact in f32 whatever their order, or
// fractions, so that order shows in the bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dsop/sparse.hpp>
#include <dsop/views.hpp>

#include "base/mix.hpp"

namespace dsop::bench {

using dsop::mix;

enum class Values { whole, fractions };

/// The share of elements of each factor that are not zero; 1 takes values as they come, some of them zero.
struct Densities {
  double a = 1;
  double b = 1;
};

/// A rank's pairs and their memory; every rank can make every other's. Whole numbers lie in -4 .. 4.
template <class T>
class InputFactors {
 public:
  /// `gap` elements that belong to nobody lie between two rows.
  InputFactors(std::uint64_t seed, int rank, std::size_t pairs, std::size_t n, std::size_t m,
               Values values = Values::whole, std::size_t gap = 0, Densities densities = {})
      : a_(make(mix(seed) + 2 * static_cast<std::uint64_t>(rank), pairs * (n + gap), values, densities.a)),
        b_(make(mix(seed) + 2 * static_cast<std::uint64_t>(rank) + 1, pairs * (m + gap), values, densities.b)),
        view_{{a_.data(), pairs, n, n + gap}, {b_.data(), pairs, m, m + gap}} {}
  InputFactors(const InputFactors&) = delete;
  InputFactors(InputFactors&&) = default;

  const Factors<T>& view() const { return view_; }

 private:
  static std::vector<T> make(std::uint64_t stream, std::size_t count, Values values, double density) {
    std::vector<T> elements(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = mix(mix(stream) + i);
      if (density < 1) {
        const bool zero = static_cast<double>(mix(bits) >> 11) * 0x1p-53 >= density;
        const auto size = static_cast<T>(bits % 4 + 1) / (values == Values::whole ? T{1} : T{3});
        elements[i] = zero ? T{0} : (bits & 4) == 0 ? size : -size;
        continue;
      }
      elements[i] = values == Values::whole ? static_cast<T>(static_cast<int>(bits % 9) - 4)
                                            : static_cast<T>(bits >> 40) / static_cast<T>(1 << 23) - T{1};
    }
    return elements;
  }

  std::vector<T> a_;
  std::vector<T> b_;
  Factors<T> view_;
};

/// A matrix without its zeros, and the memory of that.
template <class T>
class Compressed {
 public:
  explicit Compressed(MatrixView<const T> matrix) : rows_(matrix.rows), columns_(matrix.columns), offsets_{0} {
    for (std::size_t p = 0; p < rows_; ++p) {
      for (std::size_t i = 0; i < columns_; ++i)
        if (const T value = matrix.row(p)[i]; value != T{0}) {
          indices_.push_back(static_cast<std::uint32_t>(i));
          values_.push_back(value);
        }
      offsets_.push_back(values_.size());
    }
  }

  SparseMatrixView<T> view() const { return {rows_, columns_, offsets_, indices_, values_}; }

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::vector<std::size_t> offsets_;
  std::vector<std::uint32_t> indices_;
  std::vector<T> values_;
};

/// Adds scale times row i of a^T b to `row` (m elements), in the plainest way there is but for leaving out zeros.
template <class T>
void add_reference_row(const Factors<T>& factors, std::size_t i, T scale, std::span<T> row) {
  for (std::size_t p = 0; p < factors.a.rows; ++p) {
    if (factors.a.row(p)[i] == T{0}) continue;
    for (std::size_t j = 0; j < row.size(); ++j) row[j] += scale * factors.a.row(p)[i] * factors.b.row(p)[j];
  }
}

}  // namespace dsop::bench
