// One call from its arguments to the gradient: check, agree, plan, run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dsop/dsop.hpp>

#include "calls/header.hpp"
#include "memory/workspace.hpp"

namespace dsop {

/// Keeps the plan and the workspace of the last call: they are made again only when a rank's header changes.
template <class T>
class Executor {
 public:
  /// Plans for `shape` and makes the workspace, without computing. Later runs keep to the algorithm chosen here.
  void prepare(Transport& transport, const Shape& shape, const Options& options);
  void run(Transport& transport, const SparseFactors<T>& factors, MatrixView<T> gradient, const Options& options,
           const Shape* promised);
  GradientRows<T> run_rows(Transport& transport, const SparseFactors<T>& factors, const Options& options,
                           const Shape& promised);
  /// Leaves this rank its own rows of G alone, of the shape that was promised.
  void run_sharded(Transport& transport, const SparseFactors<T>& factors, MatrixView<T> own_rows,
                   const Options& options, const Shape& promised);
  const Plan& plan() const { return plan_; }

 private:
  void agree_and_plan(Transport& transport, Header& own, const std::string& own_error, const Options& options);
  std::string algorithm_for(Operation operation, const Options& options) const;
  void take_memory(const OwnTerms& own);
  Factors<T> in_full(const SparseFactors<T>& factors);
  void compute(Transport& transport, const SparseFactors<T>& factors, MatrixView<T> gradient, const Options& options);

  std::uint64_t object_ = 0;  // of the header: not 0 once prepared
  std::optional<Plan> prepared_;
  std::string prepared_algorithm_;  // its parameter is chosen again for each number of pairs, unless it was named
  std::vector<Header> headers_;
  std::vector<Header> planned_for_;
  Plan plan_;
  Workspace<std::byte> workspace_;
  Workspace<T> expanded_;  // factors that are given sparse, for an algorithm that does not take them so
};

}  // namespace dsop
