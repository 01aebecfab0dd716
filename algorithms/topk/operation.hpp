// The calls of top-k allreduces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dsop/topk_allreduce.hpp>

#include "algorithms/selection/memory.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "call/planned.hpp"

namespace dsop {

/// What a parameter keeps from call to call: its state, its plan, and what it selects in. Always given the same
/// communicator.
template <class T>
class TopKCalls {
 public:
  /// `object`: as Call has it.
  TopKCalls(std::size_t elements, TopKOptions options, TopKState state, std::uint64_t object = 0)
      : elements_(elements), options_(std::move(options)), state_(std::move(state)), object_(object) {}

  TopKSum<T> run(Transport& transport, std::span<T> values, std::size_t k) {
    select(transport, values, k);
    return sum(transport, values);
  }
  /// The first part of run(): this rank's choice. Throws nothing: what is wrong will be told to all ranks.
  void select(const Transport& transport, std::span<const T> values, std::size_t k);
  /// The rest, with the same values.
  TopKSum<T> sum(Transport& transport, std::span<T> values);
  /// What select() found.
  const Selection& selection() const { return choice_.selection; }

  /// From the next select() on; as TopKOptions::machine.
  void plan_for(const std::optional<Machine>& machine) {
    if (options_.machine != machine) options_.machine = machine;
  }

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
    SparseVectorView<T> own = {};
    std::span<sparse::Index> indices = {};  ///< own's
  };

  struct PlanEntry : Planned<TopKPlan> {
    std::size_t cut_elements = 0;  ///< memory for a selection of so many sums
    std::uint64_t threads = 0;     ///< OpenMP's, of the rank with the most: memory for the selection of so many
    std::size_t chosen_for = 0;    ///< elements of all ranks; the plan may be for others since
  };
  struct Operation;

  void check(std::span<const T> values, std::size_t k);
  void choose(const Transport& transport, std::span<const T> values);

  std::size_t elements_;
  TopKOptions options_;
  TopKState state_;
  std::uint64_t object_;
  NamedTopK named_ = {};  // of the options; null before the first check
  Choice choice_;
  std::optional<Selector<T>> selector_;  // one step further than the state once it has selected
  std::vector<std::size_t> chosen_of_ranks_;
  PlannedCalls<PlanEntry> planned_{2};
  Workspace<sparse::Index> indices_;  // of what was selected
  Workspace<T> chosen_;
  selection::Memory<T> memory_;
};

}  // namespace dsop
