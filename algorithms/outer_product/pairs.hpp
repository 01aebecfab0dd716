// Pairs that may be sparse: how they are gathered and multiplied.
#pragma once

#include "algorithms/outer_product/gather_factors.hpp"
#include "algorithms/outer_product/local_product.hpp"
#include "kernels/outer_product.hpp"
#include "kernels/sparse_product.hpp"

namespace dsop::outer_product {

/// Pairs as sparse vectors, and the memory of their product. Empty if the problem has no sparse factors.
template <class T>
struct SparsePairsMemory {
  /// For at most so many pairs, elements of a that are not zero, and rows of G.
  SparsePairsMemory(Arena& arena, const Problem& problem, std::size_t pairs, std::size_t nonzeros, std::size_t rows) {
    if (problem.sparsity.empty()) return;
    a = arena.take<SparseVectorView<T>>(pairs);
    b = arena.take<SparseVectorView<T>>(pairs);
    if (problem.sparse_product) {
      terms = {arena, rows, nonzeros};
    } else {
      a_in_full = arena.take<T>(pairs * problem.rows);
      b_in_full = arena.take<T>(pairs * problem.columns);
    }
  }
  std::span<SparseVectorView<T>> a = {};
  std::span<SparseVectorView<T>> b = {};
  kernels::SparseProductMemory<T> terms = {};
  std::span<T> a_in_full = {};
  std::span<T> b_in_full = {};
};

/// All ranks' pairs, and their products of at most `rows` rows of G.
template <class T>
struct GatheredPairs {
  GatheredPairs(Arena& arena, const Problem& problem, std::size_t rows)
      : factors(arena, problem),
        blocks(arena.take<std::byte>(problem.sparsity.empty() ? 0 : total_factor_bytes(problem))),
        widened(arena.take<T>(!problem.sparsity.empty() && problem.factor_wire == Wire::bf16 ? Nonzeros(problem).total
                                                                                             : 0)),
        sparse(arena, problem, problem.total_pairs(), Nonzeros(problem).total_a, rows) {}
  GatheredFactors<T> factors;
  std::span<std::byte> blocks;
  std::span<T> widened;  ///< the values of `blocks`, where these travel as bf16
  SparsePairsMemory<T> sparse;
};

/// One rank's own pairs, and their product.
template <class T>
struct OwnPairs : SparsePairsMemory<T> {
  OwnPairs(Arena& arena, const Problem& problem)
      : SparsePairsMemory<T>(arena, problem, problem.largest_pairs(), Nonzeros(problem).largest_a, problem.rows) {}
};

/// Some ranks' pairs, ready to be multiplied: as two matrices or, in a problem with sparse factors, as sparse vectors.
template <class T>
struct Pairs {
  Factors<T> matrices = {};
  kernels::SparsePairs<T> sparse = {};
  const SparsePairsMemory<T>* memory = nullptr;  ///< for the product of sparse pairs
};

/// gather_factors() for an algorithm that takes sparse ones too: a rank's block are its a and its b, each in the
/// smaller form.
template <class T>
Pairs<T> gather_pairs(OuterProductCall<T>& call, const GatheredPairs<T>& memory) {
  const Problem& problem = call.plan.problem;
  if (problem.sparsity.empty()) return {.matrices = gather_factors(call, memory.factors)};
  const Wire wire = problem.factor_wire;
  const AllgatherProblem& blocks = call.plan.factors.problem;
  const std::span<SparseVectorView<T>> a = memory.sparse.a;
  const std::span<SparseVectorView<T>> b = memory.sparse.b;
  // A rank's block, as its parts of a and b.
  const auto parts = [&](int r) {
    const auto rank = static_cast<std::size_t>(r);
    const std::span<std::byte> block = memory.blocks.subspan(blocks.bounds_bytes[rank], blocks.bytes(r));
    const std::size_t a_bytes =
        sparse::encoded_bytes(problem.pairs[rank], problem.rows, problem.sparsity[rank].a, problem.type, wire);
    return std::pair(block.first(a_bytes), block.subspan(a_bytes));
  };

  const int own = call.transport.rank();
  const auto [own_a, own_b] = parts(own);
  const Sparsity& own_sparsity = problem.sparsity[static_cast<std::size_t>(own)];
  sparse::encode(call.sparse_own->a, own_sparsity.a, own_a, wire, memory.widened);
  sparse::encode(call.sparse_own->b, own_sparsity.b, own_b, wire, memory.widened);
  allgather(call.transport, call.plan.factors, memory.blocks);
  std::span<T> widened = memory.widened;
  for (int r = 0; r < problem.ranks(); ++r) {
    const auto rank = static_cast<std::size_t>(r);
    const std::size_t first = call.plan.pair_bounds[rank];
    const auto [a_part, b_part] = parts(r);
    const std::size_t k = problem.pairs[rank];
    sparse::decode<T>(a_part, problem.rows, problem.sparsity[rank].a, wire, widened, a.subspan(first, k));
    sparse::decode<T>(b_part, problem.columns, problem.sparsity[rank].b, wire, widened, b.subspan(first, k));
  }
  return {.sparse = {a, b}, .memory = &memory.sparse};
}

/// This rank's own pairs.
template <class T>
Pairs<T> own_pairs(OuterProductCall<T>& call, const OwnPairs<T>& memory) {
  if (call.plan.problem.sparsity.empty()) return {.matrices = call.own};
  const std::size_t k = sparse::rows_of(call.sparse_own->a);
  const std::span<SparseVectorView<T>> a = memory.a.first(k);
  const std::span<SparseVectorView<T>> b = memory.b.first(k);
  for (std::size_t p = 0; p < k; ++p) {
    a[p] = sparse::row(call.sparse_own->a, p);
    b[p] = sparse::row(call.sparse_own->b, p);
  }
  return {.sparse = {a, b}, .memory = &memory};
}

/// C = scale times rows first_row .. first_row + C.rows - 1 of the pairs' A^T B, + beta C, by the kernel that the plan
/// has chosen for the density.
template <class T>
void product(const OuterProductCall<T>& call, const Pairs<T>& pairs, std::size_t first_row, MatrixView<T> C, T beta,
             ProductMethod method = {}) {
  const Problem& problem = call.plan.problem;
  if (problem.sparse_product) {
    kernels::sparse_product<T>(pairs.sparse, first_row, C, call.scale, beta, pairs.memory->terms);
    return;
  }
  Factors<T> matrices = pairs.matrices;
  if (!problem.sparsity.empty()) {
    const auto expand = [](std::span<const SparseVectorView<T>> vectors, std::size_t columns, std::span<T> elements) {
      for (std::size_t k = 0; k < vectors.size(); ++k)
        sparse::expand(vectors[k], elements.subspan(k * columns, columns));
      return MatrixView<const T>(elements.data(), vectors.size(), columns);
    };
    matrices.a = expand(pairs.sparse.a, problem.rows, pairs.memory->a_in_full);
    matrices.b = expand(pairs.sparse.b, problem.columns, pairs.memory->b_in_full);
  }
  kernels::product<T>(matrices.a.column_range(first_row, C.rows), matrices.b, C, call.scale, beta, method);
}

}  // namespace dsop::outer_product
