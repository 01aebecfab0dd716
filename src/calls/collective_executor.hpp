// One collective on a dense vector from its arguments to the result: check, plan, agree, run.
#pragma once

#include <span>
#include <vector>

#include <dsop/collectives.hpp>

#include "calls/collective_plan.hpp"
#include "calls/header.hpp"
#include "memory/workspace.hpp"

namespace dsop {

/// Keeps the plans of the last calls, which a training step makes again and again, and the largest workspace.
template <class T>
class CollectiveExecutor {
 public:
  void run(Transport& transport, Operation operation, std::span<T> data, int root, const CollectiveOptions& options);

  /// Opens a call: all ranks will run_agreed() on so many elements. `own_error` is empty or what is wrong on this rank,
  /// and then all ranks throw. Of the options algorithm, scale (which the ranks must have alike, no more), machine and
  /// wire (bf16 for T float alone) play a part.
  void agree(Transport& transport, Operation operation, std::size_t elements, int root, const Options& options,
             const std::string& own_error);
  void run_agreed(Transport& transport, std::span<T> data, int root);

  /// Of the last call.
  const CollectivePlan& plan() const { return plan_; }

 private:
  struct Known {
    CommonTerms terms;
    CollectivePlan plan;
  };
  const CollectivePlan& plan_for(const Transport& transport, const CommonTerms& terms, const Options& options);

  std::vector<Known> known_;
  CollectivePlan plan_;
  std::vector<Header> headers_;
  Workspace<std::byte> workspace_;
};

}  // namespace dsop
