// One top-k allreduce from a rank's values to the sum and the residual: check, select, agree, plan, run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dsop/topk_allreduce.hpp>

#include "algorithms/selection/memory.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "calls/header.hpp"
#include "memory/workspace.hpp"

namespace dsop {

/// A parameter's state and buffers. Always given the same communicator.
template <class T>
class TopKExecutor {
 public:
  TopKExecutor(std::size_t elements, TopKOptions options, TopKState state)
      : elements_(elements), options_(std::move(options)), state_(std::move(state)) {}

  TopKSum<T> run(Transport& transport, std::span<T> values, std::size_t k) {
    select(transport, values, k);
    return sum(transport, values);
  }
  /// The first part of run(): this rank's choice. Throws nothing: what is wrong will be told to all ranks.
  void select(const Transport& transport, std::span<const T> values, std::size_t k);
  /// The rest, with the same values.
  TopKSum<T> sum(Transport& transport, std::span<T> values);

  const TopKState& state() const { return state_; }
  /// As if no call had been made since the state was this.
  void go_back_to(const TopKState& state) {
    state_ = state;
    selector_.reset();
  }

 private:
  struct Choice {
    std::size_t k = 0;
    std::string error = {};
    Selection selection = {};
    sparse::Stream<T> own = {};
    std::span<sparse::Index> indices = {};  ///< own's
  };

  void check(std::span<const T> values, std::size_t k) const;
  void choose(const Transport& transport, std::span<const T> values);
  void agree(Transport& transport);
  void plan(const Transport& transport);
  void take_memory(TopKSum<T>& result);
  void run_algorithm(Transport& transport, std::span<T> values, TopKSum<T>& result);

  std::size_t elements_;
  TopKOptions options_;
  TopKState state_;
  Choice choice_;
  std::optional<Selector<T>> selector_;  // one step further than the state once it has selected
  std::vector<Header> headers_;
  TopKPlan plan_;
  AllgatherProblem blocks_;
  selection::Kept<sparse::Index> indices_;  // of what was selected
  selection::Kept<T> chosen_;
  Workspace<std::byte> workspace_;
  selection::Memory<T> memory_;
};

}  // namespace dsop
