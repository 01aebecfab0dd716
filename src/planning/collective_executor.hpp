// One collective on a dense vector from its arguments to the result: check, plan, agree, run.
#pragma once

#include <span>
#include <vector>

#include <dsop/collectives.hpp>

#include "planning/collective_plan.hpp"
#include "planning/header.hpp"
#include "planning/workspace.hpp"

namespace dsop {

/// Keeps the plans of the last calls, which a training step makes again and again, and the largest workspace.
template <class T>
class CollectiveExecutor {
 public:
  void run(Transport& transport, Operation operation, std::span<T> data, int root, const CollectiveOptions& options);

 private:
  struct Known {
    CommonTerms terms;
    CollectivePlan plan;
  };
  const CollectivePlan& plan_for(const Transport& transport, const CommonTerms& terms,
                                 const CollectiveOptions& options);

  std::vector<Known> known_;
  std::vector<Header> headers_;
  Workspace<T> workspace_;
};

}  // namespace dsop
