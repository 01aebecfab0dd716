// What the product of pairs that may be sparse costs.
#pragma once

#include <algorithm>
#include <cstddef>

#include <dsop/machine.hpp>
#include <dsop/problem.hpp>

namespace dsop::outer_product {

/// How many elements of rank r's a and b may not be zero.
inline Sparsity nonzeros_of(const Problem& problem, std::size_t r) {
  Sparsity nonzeros = problem.sparsity.empty() ? Sparsity{} : problem.sparsity[r];
  if (nonzeros.a == Sparsity::dense) nonzeros.a = problem.pairs[r] * problem.rows;
  if (nonzeros.b == Sparsity::dense) nonzeros.b = problem.pairs[r] * problem.columns;
  return nonzeros;
}

/// The same of all ranks, and of the one that has the most.
struct Nonzeros {
  explicit Nonzeros(const Problem& problem) {
    for (std::size_t r = 0; r < problem.pairs.size(); ++r) {
      const auto [a, b] = nonzeros_of(problem, r);
      total_a += a;
      total += a + b;
      largest_a = std::max(largest_a, a);
      largest = std::max(largest, a + b);
    }
  }
  std::size_t total_a = 0;
  std::size_t total = 0;  ///< of a and b
  std::size_t largest_a = 0;
  std::size_t largest = 0;
};

/// The product of all pairs, or of those of ranks first .. first + count - 1. Where non-zeros lie in a and b counts as
/// independent.
class LocalProduct {
 public:
  explicit LocalProduct(const Problem& problem) : LocalProduct(problem, 0, problem.ranks()) {}
  LocalProduct(const Problem& problem, int first, int count) : problem_(problem) {
    for (int r = first; r < first + count; ++r) {
      const auto rank = static_cast<std::size_t>(r);
      const bool in_rows = problem.sparsity.empty() || problem.sparsity[rank].b == Sparsity::dense;
      const std::size_t k = problem.pairs[rank];
      const auto [a, b] = nonzeros_of(problem, rank);
      if (k > 0)
        (in_rows ? in_rows_ : scattered_) += static_cast<double>(a) * static_cast<double>(b) / static_cast<double>(k);
      pairs_ += k;
    }
  }

  /// The time that so many rows of G take.
  double seconds(const Machine& machine, std::size_t rows) const {
    const auto n = static_cast<double>(rows);
    const auto m = static_cast<double>(problem_.columns);
    if (problem_.sparse_product)
      return machine.sparse_product_seconds(n * m, share(rows) * scattered_, share(rows) * in_rows_, problem_.type);
    const std::size_t expanded = problem_.sparsity.empty() ? 0 : pairs_ * (problem_.rows + problem_.columns);
    return machine.product_seconds(n, m, static_cast<double>(pairs_), problem_.type) +
           machine.memory_seconds(static_cast<double>(expanded * bytes_of(problem_.type)));
  }
  double flops(std::size_t rows) const {
    if (problem_.sparse_product) return 2 * share(rows) * (scattered_ + in_rows_);
    return 2 * static_cast<double>(pairs_) * static_cast<double>(rows) * static_cast<double>(problem_.columns);
  }

 private:
  double share(std::size_t rows) const {
    return rows == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(problem_.rows);
  }

  const Problem& problem_;
  std::size_t pairs_ = 0;
  double scattered_ = 0;  // expected additions to single elements of G, where b is sparse
  double in_rows_ = 0;    // to elements of whole rows
};

}  // namespace dsop::outer_product
