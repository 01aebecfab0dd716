// The calls of sparse allreduces.
#pragma once

#include <cstddef>
#include <cstdint>

#include <dsop/sparse_allreduce.hpp>

#include "algorithms/sparse/algorithm.hpp"
#include "call/planned.hpp"

namespace dsop {

/// What a communicator, a SparseAllreduce or a synchronizer's parameter keeps from call to call: plans by shape, each
/// made again when what the ranks hold is no longer nearly the same, and the overlap that their vectors had.
template <class T>
class SparseCalls {
 public:
  /// learns = false: a call's choice depends on nothing but that call, so that a run that goes on from a checkpoint
  /// makes the same, and so has the same bits. `object`: as Call has it.
  explicit SparseCalls(bool learns = true, std::uint64_t object = 0) : learns_(learns), object_(object) {}

  SparseSum<T> run(Transport& transport, const SparseVectorView<T>& own, const SparseAllreduceOptions& options);

  /// Of the last call; null before any.
  const SparsePlan* plan() const { return planned_.last() == nullptr ? nullptr : &planned_.last()->plan; }

 private:
  struct PlanEntry : Planned<SparsePlan> {
    SparseProblem chosen_for;  ///< its numbers may be others since
    double drawn_from = 0;     ///< the last sum's, see SparseProblem
    std::size_t expanded = 0;  ///< elements of this call's vectors that are no smaller sparse
  };
  struct Operation;

  bool learns_;
  std::uint64_t object_;
  PlannedCalls<PlanEntry> planned_{32};
  SparseProblem problem_;  // of the call
};

}  // namespace dsop
