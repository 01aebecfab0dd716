// What the product of pairs that may be sparse costs.
#pragma once

#include <algorithm>
#include <cstddef>

#include <dsop/machine.hpp>
#include <dsop/problem.hpp>

namespace dsop::outer_product {

/// Elements of rank r's a that may not be zero.
inline std::size_t nonzeros_of_a(const Problem& problem, std::size_t r) {
  const bool dense = problem.sparsity.empty() || problem.sparsity[r].a == Sparsity::dense;
  return dense ? problem.pairs[r] * problem.rows : problem.sparsity[r].a;
}

/// The same of its b.
inline std::size_t nonzeros_of_b(const Problem& problem, std::size_t r) {
  const bool dense = problem.sparsity.empty() || problem.sparsity[r].b == Sparsity::dense;
  return dense ? problem.pairs[r] * problem.columns : problem.sparsity[r].b;
}

inline std::size_t total_nonzeros_of_a(const Problem& problem) {
  std::size_t total = 0;
  for (std::size_t r = 0; r < problem.pairs.size(); ++r) total += nonzeros_of_a(problem, r);
  return total;
}

/// Of both.
inline std::size_t total_nonzeros(const Problem& problem) {
  std::size_t total = total_nonzeros_of_a(problem);
  for (std::size_t r = 0; r < problem.pairs.size(); ++r) total += nonzeros_of_b(problem, r);
  return total;
}

inline std::size_t largest_nonzeros_of_a(const Problem& problem) {
  std::size_t largest = 0;
  for (std::size_t r = 0; r < problem.pairs.size(); ++r) largest = std::max(largest, nonzeros_of_a(problem, r));
  return largest;
}

/// The product of all pairs, or of those of ranks first .. first + count - 1. Where non-zeros lie in a and b counts as
/// independent.
class LocalProduct {
 public:
  explicit LocalProduct(const Problem& problem) : LocalProduct(problem, 0, problem.ranks()) {}
  LocalProduct(const Problem& problem, int first, int count) : problem_(problem) {
    for (int r = first; r < first + count; ++r) {
      const auto rank = static_cast<std::size_t>(r);
      const Sparsity sparsity = problem.sparsity.empty() ? Sparsity{} : problem.sparsity[rank];
      const std::size_t k = problem.pairs[rank];
      const std::size_t a = nonzeros_of_a(problem, rank);
      const std::size_t b = nonzeros_of_b(problem, rank);
      if (k > 0)
        (sparsity.b == Sparsity::dense ? in_rows_ : scattered_) +=
            static_cast<double>(a) * static_cast<double>(b) / static_cast<double>(k);
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
