// What a selecting allreduce is to dsop, and which there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <dsop/sparse_allreduce.hpp>
#include <dsop/topk_allreduce.hpp>

#include "algorithms/dense/allgather.hpp"
#include "algorithms/selection/memory.hpp"
#include "base/named.hpp"
#include "base/parameter.hpp"
#include "base/registry.hpp"
#include "memory/arena.hpp"
#include "sparse/vector.hpp"

namespace dsop {

struct TopKAlgorithm;

struct TopKPlan : PlanOf<TopKAlgorithm, TopKProblem> {
  double second_parameter = 0;
  std::vector<std::size_t> chosen = {};  ///< elements that each rank has selected
  SparsePlan exact = {};                 ///< of those that sum exactly
  bool chooses_exact_sum = false;        ///< by what the ranks have selected
  Exchange exchange = {};                ///< of what the algorithm itself gathers, as expected

  std::size_t total_chosen() const;
};

/// One rank's part in a call, on two ranks or more, of at least one element. Arguments have been checked on all ranks.
template <class T>
struct TopKCall {
  Transport& transport;
  const TopKPlan& plan;
  std::span<T> values;                 ///< this rank's, to become its residual
  SparseVectorView<T> own;             ///< what it has selected of them: sparse, whatever is smaller
  std::span<sparse::Index> took_part;  ///< its indices, to become those that took part, in the same memory
  TopKState& state;                    ///< its step is still that of this call
  std::span<T> result;                 ///< the plan's result_bytes
  Arena& memory;                       ///< with the plan's workspace_bytes
  Exchange& exchange;                  ///< the plan's, or its exact sum's; its bounds are to become those of this call
  selection::Memory<T>& selection;     ///< for selections of sums
  SparseVectorView<T> sum = {};        ///< is to become the sum, in `result`
  bool evaluated_global = false;       ///< as in TopKSum, a result too
};

struct TopKAlgorithm {
  std::string name;
  std::string summary;
  std::string source;
  std::string selection;       ///< a name of that family: how a rank chooses what it sends; given the same number
  std::string exact_sum = {};  ///< a name of the family "sparse", or "auto": what is chosen is summed exactly by it,
                               ///< or, without a number, by the one in brackets
  Parameter<> parameter = {};
  Parameter<> second_parameter = {};  ///< only where there is a first
  bool keeps_thresholds = false;      ///< the selection and the sum may be of any size, not of about k
  bool sends_k = false;               ///< a rank's choice is always of k elements, zeros too where others are fewer
  bool published = false;             ///< here to be compared with its paper
  /// What it gathers itself, as expected; null: nothing.
  AllgatherProblem (*exchange)(const TopKProblem&) = nullptr;
  /// Beside the selection, where all ranks choose k evenly spread elements, the same ones where they sum them
  /// themselves: exact for messages and bytes.
  Cost (*cost)(const TopKPlan&, const Machine&);
  std::size_t (*workspace_bytes)(const TopKPlan&);
  TypedRun<TopKCall> run;
};

const Registry<TopKAlgorithm>& topk_algorithms();

/// The most elements that a selection of about k may give.
inline std::size_t capacity(std::size_t k, std::size_t elements) {
  return std::min(2 * k + 100, elements);
}

/// The same of the algorithm's selection.
inline std::size_t capacity(const TopKAlgorithm& algorithm, std::size_t k, std::size_t elements) {
  return algorithm.keeps_thresholds ? elements : capacity(k, elements);
}

/// The most elements that the sum may have where it is made of a selection of sums.
inline std::size_t most_in_sum(const TopKPlan& plan) {
  const std::size_t most = capacity(*plan.algorithm, plan.problem.k, plan.problem.elements);
  return plan.algorithm->keeps_thresholds ? std::min(plan.total_chosen(), most) : most;
}

/// The workspace_bytes of an algorithm whose Memory depends on the plan.
template <template <class> class Memory>
static std::size_t counted(const TopKPlan& plan) {
  return counted_bytes<Memory>(plan.problem.type, plan);
}

/// An algorithm with its numbers: the caller's or, where there are none, its own.
struct NamedTopK {
  const TopKAlgorithm* algorithm = nullptr;
  double parameter = 0;
  double second_parameter = 0;
  std::string exact_sum = {};  ///< "topk(allgather)" names it; empty: the algorithm's own
};

/// What the ranks do once each has chosen chosen[r] elements. Throws ArgumentError when sizes overflow.
TopKPlan make_topk_plan(const TopKProblem& problem, const Machine& machine, const NamedTopK& named,
                        const std::vector<std::size_t>& chosen);

/// The same plan for other numbers of chosen elements, as many as there are ranks; allocates nothing.
void adapt_plan(TopKPlan& plan, const std::vector<std::size_t>& chosen);

/// Throws ArgumentError, listing the known names, if `text` names no algorithm of the family, has a wrong number, or
/// names an unknown algorithm beneath.
NamedTopK parse_topk(const std::string& text);

/// The same with the exact sum that calls take which plan for `machine`, if all ranks select k.
NamedTopK with_exact_sum(const TopKProblem& problem, const Machine& machine, NamedTopK named);

/// As the public one.
Cost topk_cost(const TopKProblem& problem, const Machine& machine, const NamedTopK& named);

/// "ok-topk(32)", "ok-topk-published(32,64)", "topk, summed by ssar-split-allgather".
std::string algorithm_text(const TopKPlan& plan);

}  // namespace dsop
