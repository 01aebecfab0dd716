// One sparse allreduce from its argument to the sum: check, agree, plan, run.
#pragma once

#include <vector>

#include <dsop/sparse_allreduce.hpp>

#include "calls/header.hpp"
#include "memory/workspace.hpp"

namespace dsop {

/// Keeps the plan of the last call, which is made again when what the ranks hold is no longer nearly the same, the
/// overlap of its vectors, and the largest workspace.
template <class T>
class SparseExecutor {
 public:
  /// learns = false: a call's plan depends on nothing but that call, so that a run that goes on from a checkpoint makes
  /// the same, and so has the same bits.
  explicit SparseExecutor(bool learns = true) : learns_(learns) {}

  /// `regions`: into how many regions the ranks say that the vector is cut, of which `own` is one.
  SparseSum<T> run(Transport& transport, const SparseVectorView<T>& own, const SparseAllreduceOptions& options,
                   std::size_t regions);

  /// Of the last call.
  const SparsePlan& plan() const { return plan_; }

 private:
  void agree(Transport& transport, const SparseVectorView<T>& own, const SparseAllreduceOptions& options,
             std::size_t regions);
  void make_plan(const Transport& transport, const SparseAllreduceOptions& options, bool planned);
  bool serves(const SparseProblem& problem) const;
  void learn_overlap(const SparseVectorView<T>& sum);
  SparseSum<T> take_memory(const SparseVectorView<T>& own);

  bool learns_;
  std::vector<Header> headers_;
  CommonTerms planned_for_;
  bool planned_ = false;           // for these terms, and all ranks know that all are
  SparseProblem planned_problem_;  // for which it was chosen; its numbers may be others since
  SparsePlan plan_;
  double drawn_from_ = 0;  // the last sum's, see SparseProblem
  AllgatherProblem blocks_;
  Workspace<std::byte> workspace_;
  Workspace<T> expanded_;  // own, where that is sparse and smaller dense
};

}  // namespace dsop
