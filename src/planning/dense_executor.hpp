// One dense allreduce from what is to be summed to the sum: agree, plan, run.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <dsop/dsop.hpp>

#include "planning/collective_plan.hpp"
#include "planning/header.hpp"
#include "planning/workspace.hpp"

namespace dsop {

/// Keeps the plan of the last call, and the largest workspace.
template <class T>
class DenseExecutor {
 public:
  /// Opens a call: all ranks will sum() so many elements, by options.algorithm of the family "dense". `own_error` is
  /// empty or what is wrong on this rank, and then all ranks throw. Of the options algorithm, scale (which the ranks
  /// must have alike, no more) and machine play a part.
  void agree(Transport& transport, std::size_t elements, const Options& options, const std::string& own_error);
  /// `data` becomes the sum of all ranks' data.
  void sum(Transport& transport, std::span<T> data);

  const CollectivePlan& plan() const { return plan_; }

 private:
  void make_plan(const Transport& transport, CommonTerms terms, const Options& options);

  std::vector<Header> headers_;
  CommonTerms planned_for_;
  CollectivePlan plan_;
  Workspace<T> workspace_;
};

}  // namespace dsop
