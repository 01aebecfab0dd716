// Making one pair of two neighbours that have the same index.
#pragma once

#include <cstddef>

#include <dsop/product_method.hpp>

#include "kernels/add_scaled.hpp"

namespace dsop::kernels {

/// Writes `count` pairs whose indices rise, with at most two of an index, to `to_indices` and `to_values`: of two with
/// the same index one, whose value is the first's plus the second's. Returns how many are written. indices[-1] and
/// indices[count] must be there and differ from the index beside them, values[count] must be there. What is written
/// reaches beyond what is returned, but no further than `count`. Cost: one read, no branch that depends on an index.
template <class T>
using JoinEqual = std::size_t (*)(const sparse::Index* indices, const T* values, std::size_t count,
                                  sparse::Index* to_indices, T* to_values);

/// The function for `set`, which the processor must have. All give the same.
template <class T>
JoinEqual<T> equal_joiner(InstructionSet set);

}  // namespace dsop::kernels
