// Pairs that may be sparse: how they are gathered and multiplied.
#pragma once

#include "algorithms/outer_product/gather_factors.hpp"
#include "algorithms/outer_product/local_product.hpp"
#include "kernels/outer_product.hpp"
#include "sparse/room.hpp"

namespace dsop::outer_product {

/// Some ranks' pairs, ready to be multiplied: as two matrices or, in a problem with sparse factors, as streams.
template <class T>
struct Pairs {
  Factors<T> matrices = {};
  kernels::StreamPairs<T> streams = {};
  std::span<std::byte> memory = {};  ///< for the product of streams
};

/// The workspace of gather_pairs() and of the product of `rows` rows of G.
inline std::size_t gathered_pairs_elements(const Problem& problem, std::size_t rows) {
  if (problem.sparsity.empty()) return gathered_elements(problem);
  const std::size_t blocks = sparse::Room::bytes<std::byte>(factor_blocks(problem).total_bytes());
  return blocks / bytes_of(problem.type) + 1 + LocalProduct(problem, 0, problem.ranks()).workspace_elements(rows);
}

/// gather_factors() for an algorithm that takes sparse ones too: a rank's block are its a and its b, each in the
/// smaller form. Takes gathered_pairs_elements().
template <class T>
Pairs<T> gather_pairs(OuterProductCall<T>& call) {
  const Problem& problem = call.plan.problem;
  if (problem.sparsity.empty()) return {.matrices = gather_factors(call)};
  const AllgatherProblem& blocks = call.plan.factors.problem;
  sparse::Room room(std::as_writable_bytes(call.workspace));
  const std::span<std::byte> data = room.take<std::byte>(blocks.total_bytes());
  const auto a = room.take<sparse::Stream<T>>(call.plan.pair_bounds.back());
  const auto b = room.take<sparse::Stream<T>>(call.plan.pair_bounds.back());
  // A rank's block, as its parts of a and b.
  const auto parts = [&](int r) {
    const auto rank = static_cast<std::size_t>(r);
    const std::span<std::byte> block = data.subspan(blocks.bounds_bytes[rank], blocks.bytes(r));
    const std::size_t a_bytes =
        sparse::encoded_bytes(problem.pairs[rank], problem.rows, problem.sparsity[rank].a, problem.type);
    return std::pair(block.first(a_bytes), block.subspan(a_bytes));
  };

  const int own = call.transport.rank();
  const auto [own_a, own_b] = parts(own);
  sparse::encode(call.sparse_own->a, problem.sparsity[static_cast<std::size_t>(own)].a, own_a);
  sparse::encode(call.sparse_own->b, problem.sparsity[static_cast<std::size_t>(own)].b, own_b);
  allgather(call.transport, call.plan.factors, data);
  for (int r = 0; r < problem.ranks(); ++r) {
    const auto rank = static_cast<std::size_t>(r);
    const std::size_t first = call.plan.pair_bounds[rank];
    const auto [a_part, b_part] = parts(r);
    sparse::decode<T>(a_part, problem.rows, problem.sparsity[rank].a, a.subspan(first, problem.pairs[rank]));
    sparse::decode<T>(b_part, problem.columns, problem.sparsity[rank].b, b.subspan(first, problem.pairs[rank]));
  }
  return {.streams = {a, b}, .memory = room.rest()};
}

/// This rank's own pairs. Takes LocalProduct::workspace_elements() in a problem with sparse factors.
template <class T>
Pairs<T> own_pairs(OuterProductCall<T>& call) {
  if (call.plan.problem.sparsity.empty()) return {.matrices = call.own};
  sparse::Room room(std::as_writable_bytes(call.workspace));
  const std::size_t k = sparse::rows_of(call.sparse_own->a);
  const auto a = room.take<sparse::Stream<T>>(k);
  const auto b = room.take<sparse::Stream<T>>(k);
  for (std::size_t p = 0; p < k; ++p) {
    a[p] = sparse::row(call.sparse_own->a, p);
    b[p] = sparse::row(call.sparse_own->b, p);
  }
  return {.streams = {a, b}, .memory = room.rest()};
}

/// C = scale times rows first_row .. first_row + C.rows - 1 of the pairs' A^T B (+ C), by the kernel that the plan has
/// chosen for the density.
template <class T>
void product(const OuterProductCall<T>& call, const Pairs<T>& pairs, std::size_t first_row, MatrixView<T> C,
             bool accumulate, ProductMethod method = {}) {
  const Problem& problem = call.plan.problem;
  if (problem.sparse_product) {
    kernels::sparse_product<T>(pairs.streams, first_row, C, call.scale, accumulate, pairs.memory);
    return;
  }
  Factors<T> matrices = pairs.matrices;
  if (!problem.sparsity.empty()) {
    sparse::Room room(pairs.memory);
    const auto expand = [&](std::span<const sparse::Stream<T>> streams, std::size_t columns) {
      const std::span<T> elements = room.take<T>(streams.size() * columns);
      for (std::size_t k = 0; k < streams.size(); ++k)
        sparse::expand(streams[k], elements.subspan(k * columns, columns));
      return MatrixView<const T>(elements.data(), streams.size(), columns);
    };
    matrices.a = expand(pairs.streams.a, problem.rows);
    matrices.b = expand(pairs.streams.b, problem.columns);
  }
  kernels::product<T>(matrices.a.column_range(first_row, C.rows), matrices.b, C, call.scale, accumulate, method);
}

}  // namespace dsop::outer_product
