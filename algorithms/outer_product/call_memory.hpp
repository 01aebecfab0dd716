// What a call of outer products works in, beside its algorithm.
#pragma once

#include <cstddef>
#include <span>

#include <dsop/plan.hpp>
#include <dsop/sparse.hpp>
#include <dsop/views.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "memory/arena.hpp"
#include "sparse/factor.hpp"

namespace dsop::outer_product {

/// `expanded_pairs`: the most that a rank gives sparse, if the algorithm needs them in full; else 0.
template <class T>
struct CallMemory {
  CallMemory(Arena& arena, const Plan& plan, std::size_t expanded_pairs)
      : a(arena.take<T>(expanded_pairs * plan.problem.rows)),
        b(arena.take<T>(expanded_pairs * plan.problem.columns)),
        sum(arena.take<T>(has_sum(plan) ? plan.problem.rows * plan.problem.columns : 0)) {}

  /// Whether G travels, and some rank has no room for it in its gradient.
  static bool has_sum(const Plan& plan) { return plan.algorithm->sends_gradient && plan.problem.staged_result; }

  std::span<T> a;    // in full
  std::span<T> b;    // in full
  std::span<T> sum;  // G as it travels
};

/// The factor as a matrix: itself, or expanded in `memory`.
template <class T>
MatrixView<const T> in_full(const FactorView<T>& factor, std::span<T> memory) {
  if (const auto* const dense = std::get_if<MatrixView<const T>>(&factor)) return *dense;
  sparse::expand(factor, memory);
  return {memory.data(), sparse::rows_of(factor), sparse::columns_of(factor)};
}

}  // namespace dsop::outer_product
