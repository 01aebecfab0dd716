// What an outer-product algorithm is to dsop, and which there are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <dsop/plan.hpp>
#include <dsop/sparse.hpp>
#include <dsop/transport.hpp>
#include <dsop/views.hpp>

#include "algorithms/dense/algorithm.hpp"
#include "algorithms/dense/allgather.hpp"
#include "base/named.hpp"
#include "base/registry.hpp"
#include "memory/arena.hpp"

namespace dsop {

/// One rank's part in G = scale * sum over ranks of A_r^T B_r + beta * G. Arguments have been checked on all ranks.
template <class T>
struct OuterProductCall {
  Transport& transport;
  const Plan& plan;
  Factors<T> own = {};     ///< A_r, B_r
  MatrixView<T> gradient;  ///< G; without gaps and to be overwritten where the algorithm sends_gradient
  T scale;
  T beta = 0;     ///< G's old values times beta are added; 0 if the algorithm sends_gradient
  Arena& memory;  ///< with the workspace_bytes()
  const SparseFactors<T>* sparse_own = nullptr;  ///< in place of `own`, where the plan's problem has sparse factors
  /// Where all factors rode in the agreement: puts them there, one pair a row, in place of an allgather.
  Callback<std::span<T>> unpack = {};
};

struct OuterProductAlgorithm {
  std::string name;
  std::string summary;
  std::string source;
  std::string other_name = {};                            ///< found by it too
  const DenseAlgorithm* dense = nullptr;                  ///< of the allreduce-* family: how G is summed
  const AllgatherAlgorithm* exchange = nullptr;           ///< how factors are gathered; null: the cheapest way
  const AllgatherAlgorithm* gradient_exchange = nullptr;  ///< how parts of G are; null: the cheapest out of step
  bool sends_factors = true;                              ///< otherwise parts of G alone travel
  bool sends_gradient = true;  ///< parts of G travel; a G with gaps, or added to, is made in other memory
  bool takes_sparse = false;   ///< otherwise sees a problem without sparsity, and is given `own` in full
  bool can_piggyback = false;  ///< gathers factors in any way, so those of few bytes ride in the agreement
  bool in_buckets = false;     ///< gathers all factors at once, so that other layers' may join them
  bool sends_bf16 = false;     ///< and can travel as bf16, if the problem's wire says so
  bool published = false;      ///< here to be compared with its paper: it may be named, and `auto` never takes it
  /// Of what its formula hides, `auto` does not count on so much; empty: the machine's, see needed_lead.hpp.
  std::optional<double> doubted_share = std::nullopt;
  std::string (*unsupported)(const OuterProductAlgorithm&, const Problem&) =
      [](const OuterProductAlgorithm&, const Problem&) { return std::string(); };
  Parameter<OuterProductAlgorithm, Problem> parameter = {};
  /// The allgathers that it makes, with the way in which it makes them. Chosen once, for its cost and its run.
  Exchanges (*exchanges)(const OuterProductAlgorithm&, const Problem&, const Machine&, double parameter) =
      [](const OuterProductAlgorithm&, const Problem&, const Machine&, double) { return Exchanges(); };
  Cost (*cost)(const OuterProductAlgorithm&, const Problem&, const Machine&, double parameter, const Exchanges&);
  std::size_t (*workspace_bytes)(const OuterProductAlgorithm&, const Problem&, double parameter);
  TypedRun<OuterProductCall> run;

  /// Runs inside the MPI library: its messages can't be counted, its cost is a guess.
  bool native() const { return (dense != nullptr && dense->native) || (exchange != nullptr && exchange->native); }
};

const Registry<OuterProductAlgorithm>& outer_product_algorithms();
/// For problems that are `sharded`: every rank keeps its own rows, and no gradient travels. OuterProductCall::gradient
/// is the calling rank's rows of G, with any stride; rank r's are Plan::row_bounds[r] .. Plan::row_bounds[r + 1].
const Registry<OuterProductAlgorithm>& sharded_algorithms();

/// Empty if the algorithm can serve, else the reason: its own, or that the problem's wire is not for it.
std::string why_unsupported(const OuterProductAlgorithm& algorithm, const Problem& problem);

using NamedAlgorithm = Named<OuterProductAlgorithm>;

}  // namespace dsop
