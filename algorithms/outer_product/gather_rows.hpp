// The step that leaves out the rows of G that are zero: everybody gets all factors, and makes the rows that have a
// term.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/outer_product/pairs.hpp"

namespace dsop::outer_product {

/// The most rows of G that can have a term: one for each non-zero of all ranks' a.
inline std::size_t most_rows(const Problem& problem) {
  std::size_t nonzeros = 0;
  for (std::size_t r = 0; r < problem.pairs.size(); ++r)
    nonzeros += problem.sparsity[r].a == Sparsity::dense ? problem.pairs[r] * problem.rows : problem.sparsity[r].a;
  return std::min(nonzeros, problem.rows);
}

/// Writes the rows one after the other to call.gradient, which has room for most_rows(), and their numbers, rising, to
/// `indices`. Returns how many there are. The workspace is that of `allgather`; all ranks get the same bits.
template <class T>
std::size_t gather_rows(OuterProductCall<T>& call, std::span<std::uint32_t> indices) {
  const Pairs<T> all = gather_pairs(call);
  return kernels::sparse_product_rows<T>(all.streams, indices, call.gradient, call.scale, all.memory);
}

}  // namespace dsop::outer_product
