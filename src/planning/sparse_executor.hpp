// One sparse allreduce from its argument to the sum: check, agree, plan, run.
#pragma once

#include <vector>

#include <dsop/sparse_allreduce.hpp>

#include "planning/header.hpp"
#include "planning/workspace.hpp"

namespace dsop {

/// Keeps the plan of the last call, which is made again when a rank's header changes, and the largest workspace.
template <class T>
class SparseExecutor {
 public:
  SparseSum<T> run(Transport& transport, const SparseVectorView<T>& own, const SparseAllreduceOptions& options);
  const SparsePlan& plan() const { return plan_; }

 private:
  void agree(Transport& transport, const SparseVectorView<T>& own, const SparseAllreduceOptions& options);
  void make_plan(const Transport& transport, const SparseAllreduceOptions& options);
  SparseSum<T> take_memory(const SparseVectorView<T>& own);

  std::vector<Header> headers_;
  std::vector<Header> planned_for_;
  SparsePlan plan_;
  AllgatherProblem blocks_;
  Workspace<std::byte> workspace_;
  Workspace<T> expanded_;  // own, where that is sparse and smaller dense
};

}  // namespace dsop
