// The calls of sparse allreduces.
#pragma once

#include <cstddef>
#include <cstdint>

#include <dsop/sparse_allreduce.hpp>

#include "algorithms/sparse/algorithm.hpp"
#include "calls/call.hpp"
#include "calls/kept_plans.hpp"

namespace dsop {

/// What a communicator, a SparseAllreduce or a synchronizer's parameter keeps from call to call: plans by shape, each
/// made again when what the ranks hold is no longer nearly the same, and the overlap that their vectors had.
template <class T>
class SparseCalls {
 public:
  static constexpr std::size_t most_plans = 32;

  /// learns = false: a call's plan depends on nothing but that call, so that a run that goes on from a checkpoint makes
  /// the same, and so has the same bits. `object`: as Call has it.
  explicit SparseCalls(bool learns = true, std::uint64_t object = 0) : learns_(learns), object_(object) {}

  SparseSum<T> run(Transport& transport, const SparseVectorView<T>& own, const SparseAllreduceOptions& options);

  /// Of the last call; null before any.
  const SparsePlan* plan() const { return made_ == nullptr ? nullptr : &made_->plan; }

 private:
  struct Made {
    SparseProblem chosen_for = {};  ///< its numbers may be others since
    SparsePlan plan = {};
    double drawn_from = 0;  ///< the last sum's, see SparseProblem
  };

  void find_or_make(Call& call, const SparseVectorView<T>& own, const SparseAllreduceOptions& options);
  bool serves(const Made& made, const SparseProblem& problem) const;
  void learn_overlap(const SparseVectorView<T>& sum);

  bool learns_;
  std::uint64_t object_;
  KeptPlans<Made> plans_{most_plans};
  Made* made_ = nullptr;   // for the last call, in plans_
  SparseProblem problem_;  // of the call
  AllgatherProblem blocks_;
};

}  // namespace dsop
