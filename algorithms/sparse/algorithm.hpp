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
  AllgatherProblem& blocks;      ///< with a bound for each rank and one more, to be filled
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
  /// Messages and bytes are exact where all ranks hold equally many elements, evenly spread, and all or none of them
  /// are the same; otherwise expected ones.
  Cost (*cost)(const SparseAlgorithm&, const SparseProblem&, const Machine&, double parameter);
  /// Of the allgather that it makes, as expected; null: it makes none.
  AllgatherProblem (*blocks)(const SparseProblem&, double parameter) = nullptr;
  std::size_t (*workspace_bytes)(const SparseAlgorithm&, const SparseProblem&, double parameter);
  TypedRun<SparseCall> run;

  /// Runs inside the MPI library: its messages can't be counted, its cost is a guess.
  bool native() const { return dense != nullptr && dense->native; }
};

const Registry<SparseAlgorithm>& sparse_algorithms();

/// Empty, or why the algorithm can't serve.
std::string why_unsupported(const SparseAlgorithm& algorithm, const SparseProblem& problem);

}  // namespace dsop
