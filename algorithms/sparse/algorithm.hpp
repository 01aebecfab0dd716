// What a sparse allreduce is to dsop, and which there are.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <dsop/sparse_allreduce.hpp>

#include "algorithms/dense/algorithm.hpp"
#include "algorithms/dense/allgather.hpp"
#include "base/named.hpp"
#include "base/parameter.hpp"
#include "base/registry.hpp"
#include "memory/arena.hpp"
#include "sparse/vector.hpp"

namespace dsop {

/// One rank's part in the sum of all ranks' vectors, on two ranks or more. Arguments have been checked on all ranks.
template <class T>
struct SparseCall {
  Transport& transport;
  const SparsePlan& plan;
  SparseVectorView<T> own;       ///< in the form that is smaller
  std::span<T> result;           ///< the plan's result_bytes
  Arena& memory;                 ///< with the plan's workspace_bytes
  Exchange& exchange;            ///< the plan's; its bounds are to become those of this call
  SparseVectorView<T> sum = {};  ///< is to become the sum, in `result`
};

struct SparseAlgorithm {
  std::string name;
  std::string summary;
  std::string source;
  std::string other_name = {};            ///< found by it too
  const DenseAlgorithm* dense = nullptr;  ///< of the dense-* family: how the vectors are summed
  bool makes_dense = false;               ///< the sum is dense, whatever it holds
  double needed_lead = 1;                 ///< `auto` takes it where it is predicted to be so many times as fast
  bool sends_bf16 = false;                ///< values can travel as bf16, if the problem's wire says so
  std::string (*unsupported)(const SparseAlgorithm&, const SparseProblem&) =
      [](const SparseAlgorithm&, const SparseProblem&) { return std::string(); };
  Parameter<SparseAlgorithm, SparseProblem> parameter = {};
  /// What it gathers, as expected; null: nothing.
  AllgatherProblem (*exchange)(const SparseProblem&, double parameter) = nullptr;
  /// Messages and bytes are exact where all ranks hold equally many elements, evenly spread, and all or none of them
  /// are the same; otherwise expected ones. Of the plan it sees the problem, the parameter and the exchange.
  Cost (*cost)(const SparsePlan&, const Machine&);
  std::size_t (*workspace_bytes)(const SparsePlan&);
  TypedRun<SparseCall> run;

  /// Runs inside the MPI library: its messages can't be counted, its cost is a guess.
  bool native() const { return dense != nullptr && dense->native; }
};

const Registry<SparseAlgorithm>& sparse_algorithms();

/// The workspace_bytes of an algorithm with such a Memory.
template <template <class> class Memory>
static std::size_t counted(const SparsePlan& plan) {
  return counted_bytes<Memory>(plan.problem.type, plan.problem, plan.parameter);
}

/// Empty, or why the algorithm can't serve.
std::string why_unsupported(const SparseAlgorithm& algorithm, const SparseProblem& problem);

}  // namespace dsop
