// The step that leaves out the rows of G that are zero: everybody gets all factors, and computes the rows that have a
// term.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/outer_product/pairs.hpp"

namespace dsop::outer_product {

/// The most rows of G that can have a term: one for each non-zero of all ranks' a.
inline std::size_t most_rows(const Problem& problem) {
  return std::min(total_nonzeros_of_a(problem), problem.rows);
}

/// Writes the rows one after the other to call.gradient, which has room for most_rows(), and their numbers, rising, to
/// `indices`. Returns how many there are. Takes the memory of `allgather`; all ranks get the same bits.
template <class T>
std::size_t gather_rows(OuterProductCall<T>& call, std::span<std::uint32_t> indices) {
  const GatheredPairs<T> memory(call.memory, call.plan.problem, call.plan.problem.rows);
  const Pairs<T> all = gather_pairs(call, memory);
  return kernels::sparse_product_rows<T>(all.sparse, indices, call.gradient, call.scale, memory.sparse.terms);
}

}  // namespace dsop::outer_product
