// The calls of outer products: dsop(), and one layer's run(), run_rows() and run_sharded().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include <dsop/dsop.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "call/choose.hpp"
#include "call/planned.hpp"
#include "call/terms.hpp"
#include "sparse/factor.hpp"

namespace dsop {

/// What Options say of a call, inside the library. The algorithm and the machine stay the caller's.
struct OuterProductTerms {
  const std::string& algorithm;
  const std::optional<Machine>& machine;
  SumTerms sum = {};
  Wire factor_wire = Wire::full;
  bool allow_native = false;
  bool find_zeros = false;
  bool check_bits = false;
};

/// What a call gives: nothing but a plan, G, this rank's rows of G, or the rows of G that are not all zero.
enum class Output : unsigned char { plan_only, whole, own_rows, nonzero_rows };

/// One rank's part in a call.
template <class T>
struct OuterProductArguments {
  Output output;
  OuterProductTerms terms;
  const Shape* promised = nullptr;          ///< the layer's shape; null for dsop()
  SparseFactors<T> factors = Factors<T>{};  ///< a plan is made without
  MatrixView<T> gradient = {};              ///< or this rank's rows of it
};

namespace outer_product {

/// dsop::make_plan(), perhaps without what was not chosen. `threads` are OpenMP's, of a rank; 0: not known.
Plan make_plan(const Problem& problem, const Machine& machine, const std::string& algorithm,
               ProductMethod shared_method, Evaluated evaluated, int threads = 0);

/// What a call works in, beside its algorithm. `expanded_pairs`: the most that a rank gives sparse, if the algorithm
/// needs them in full; else 0.
template <class T>
struct CallMemory {
  CallMemory(Arena& arena, const Plan& plan, std::size_t expanded_pairs)
      : a(arena.take<T>(expanded_pairs * plan.problem.rows)),
        b(arena.take<T>(expanded_pairs * plan.problem.columns)),
        sum(arena.take<T>(makes_sum_aside(plan) ? plan.problem.rows * plan.problem.columns : 0)) {}

  /// Whether G travels, and some rank has no room for it in its gradient.
  static bool makes_sum_aside(const Plan& plan) { return plan.algorithm->sends_gradient && plan.problem.staged_result; }

  std::span<T> a;    // in full
  std::span<T> b;    // in full
  std::span<T> sum;  // G as it travels
};

/// The factor as a matrix: itself, or expanded in `memory`.
template <class T>
MatrixView<const T> in_full(const FactorView<T>& factor, std::span<T> memory) {
  if (const auto* const dense = std::get_if<MatrixView<const T>>(&factor)) return *dense;
  sparse::expand(factor, memory);
  return {memory.data(), sparse::rows_of(factor), sparse::columns_of(factor)};
}

/// What a call takes of the communicator's memory: CallMemory and the algorithm's own.
std::size_t workspace_bytes(const Plan& plan, std::size_t expanded_pairs);

/// The bytes of the largest rank's factors if all ranks' may ride in an agreement; else 0.
std::size_t piggyback_bytes(const Problem& problem);

/// What later calls keep to, of a plan for the algorithm that the caller named, or `auto`. A parameter that was
/// measured stays: the formula's may be another one for fewer pairs.
inline std::string to_keep(const Plan& plan, const std::string& asked) {
  if (asked != "auto") return asked;
  return plan.auto_is_measured ? plan.algorithm_text() : plan.algorithm_name();
}

/// The number of non-zeros that a layer's shape lets expect.
Sparsity expected_sparsity(const Shape& shape, DataType type, Wire factor_wire);

}  // namespace outer_product

/// What dsop(), or a layer, keeps from call to call: plans, found by shape and by the numbers that ranks say. Memory:
/// at most `most_plans` plans, each of about 9 KiB and less than 1 KiB a rank.
template <class T>
class OuterProductCalls {
 public:
  static constexpr std::size_t most_plans = 64;

  /// A layer's first call makes a plan, and takes the memory: later ones keep to the algorithm that it chose. Returns
  /// the rows, where these are the output.
  GradientRows<T> run(Transport& transport, OuterProductArguments<T> arguments);
  /// The plan of the last call, with the costs of all algorithms. They are computed here, since calls need only their
  /// own algorithm's.
  const Plan& plan() const;
  /// Of the last call, as the ranks agreed on it.
  const Problem& problem() const { return planned_.last()->problem; }
  /// The algorithm that the caller names or, if that is "auto", DSOP_ALGORITHM; a layer's first call has read it.
  const std::string& named(const std::string& algorithm) const {
    return algorithm == "auto" ? environment_ : algorithm;
  }
  /// Whether a call was planned, perhaps a layer's first.
  bool has_plan() const { return planned_.last() != nullptr; }
  /// The name of the algorithm that made the last sum, with its parameter.
  const std::string& algorithm_text() const { return planned_.last()->text; }

 private:
  struct PlanEntry : Planned<Plan> {  // the plan has its own candidate alone
    Problem problem;                  ///< as the ranks agreed on it; the plan's is what its algorithm sees of that
    std::string algorithm;            ///< calls of as many pairs, or about as many, keep to it
    std::size_t pairs = 0;            ///< of all ranks, for which that was chosen
    std::size_t expanded_pairs = 0;   ///< of the largest rank's that are given sparse and needed in full
    std::size_t piggyback_bytes = 0;  ///< of the largest rank's factors, if they may ride in the agreement
  };
  /// What a layer keeps to. The parameter is chosen again for each number of pairs, unless it was named.
  struct Prepared {
    std::string algorithm;
    std::string reason;
  };
  struct Operation;

  const Prepared& prepared(bool started) const { return started && started_ ? *started_ : prepared_; }
  void keep_choice(const Call& call, const PlanEntry& made, const std::string& asked);

  std::uint64_t object_ = 0;  // not 0 once prepared
  std::string environment_;   // what DSOP_ALGORITHM names
  Prepared prepared_;
  std::unique_ptr<Prepared> started_;  // of started calls, where that is another
  PlannedCalls<PlanEntry> planned_{most_plans};
  mutable std::optional<Plan> shown_;  // for plan()
};

}  // namespace dsop
