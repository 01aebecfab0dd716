// The calls of outer products: dsop(), and one layer's run(), run_rows() and run_sharded().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <dsop/dsop.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "algorithms/outer_product/tries.hpp"
#include "calls/call.hpp"
#include "calls/choose.hpp"
#include "calls/kept_plans.hpp"

namespace dsop {

namespace outer_product {

/// dsop::make_plan(), perhaps without the costs of what is not named.
Plan make_plan(const Problem& problem, const Machine& machine, const std::string& algorithm,
               ProductMethod shared_method, Evaluated evaluated);

/// What a call takes of the communicator's memory: CallMemory and the algorithm's own.
std::size_t workspace_bytes(const Plan& plan, std::size_t expanded_pairs);

/// The bytes of the largest rank's factors if all ranks' may ride in an agreement; else 0.
std::size_t riding_bytes(const Problem& problem);

/// The number of non-zeros that a layer's shape lets expect.
Sparsity expected_sparsity(const Shape& shape, DataType type, Wire factor_wire);

}  // namespace outer_product

/// What dsop(), or a layer, keeps from call to call: plans, found by shape and by the numbers that ranks say. Memory:
/// at most `most_plans` plans, each of about 9 KiB and less than 1 KiB a rank.
template <class T>
class OuterProductCalls {
 public:
  static constexpr std::size_t most_plans = 64;

  /// Plans for `shape` and takes the memory, without computing. Later runs keep to the algorithm chosen here.
  void prepare(Transport& transport, const Shape& shape, const Options& options);
  /// `promised` is the layer's shape, null for dsop().
  void run(Transport& transport, const SparseFactors<T>& factors, MatrixView<T> gradient, const Options& options,
           const Shape* promised);
  GradientRows<T> run_rows(Transport& transport, const SparseFactors<T>& factors, const Options& options,
                           const Shape& promised);
  /// Leaves this rank its own rows of G alone, of the shape that was promised.
  void run_sharded(Transport& transport, const SparseFactors<T>& factors, MatrixView<T> own_rows,
                   const Options& options, const Shape& promised);
  /// The plan of the last call, with the costs of all algorithms. They are computed here, since calls need only their
  /// own algorithm's.
  const Plan& plan() const;
  /// Ends what is still tried: the fastest so far stays. Returns what tries have left, "" where there were none.
  const std::string& settle();
  /// Later runs keep to what settle() returned on a layer like this one.
  void keep(const std::string& algorithm);
  /// Whether a call was planned, perhaps by prepare().
  bool has_plan() const { return made_ != nullptr; }
  /// The name of the algorithm that made the last sum, with its parameter.
  std::string algorithm_text() const { return made_->plan.algorithm_text(); }

 private:
  /// What all ranks say alike of a call.
  struct Terms {
    std::size_t rows;
    std::size_t columns;
    const std::string& algorithm;
    const Options& options;
    bool sharded = false;
    bool rows_only = false;
  };
  /// The algorithm that was chosen for so many pairs of all ranks.
  struct InUse {
    std::string algorithm;
    std::size_t pairs;
  };
  /// What a layer keeps to. The parameter is chosen again for each number of pairs, unless it was named.
  struct Prepared {
    std::string algorithm;
    std::string reason;
  };
  struct Made {
    Problem problem = {};            ///< as the ranks agreed on it; the plan's is what its algorithm sees of that
    Plan plan = {};                  ///< with the cost of its own algorithm alone
    std::size_t expanded_pairs = 0;  ///< of the largest rank's that are given sparse and needed in full
    std::size_t memory_bytes = 0;    ///< for these, and for the plan
    std::size_t riding_bytes = 0;    ///< of the largest rank's factors, if they may ride in the agreement
  };

  const std::string& named_algorithm(Call& call, const Options& options);
  static void say(Call& call, const Terms& terms);
  static Problem problem_of(const Call& call, const Terms& terms);
  void agree_and_plan(Call& call, const Terms& terms, const SparseFactors<T>* factors);
  const Prepared& prepared(bool started) const { return started && started_ ? *started_ : prepared_; }
  std::string algorithm_for(const Terms& terms, bool started, std::size_t pairs, const InUse* in_use) const;
  Made make(const Call& call, const Terms& terms, const std::string& algorithm) const;
  void find_or_make(Call& call, const Terms& terms, bool prepares);
  void keep_choice(const Call& call, const Terms& terms);
  void begin_tries(int each);
  void next_try(std::span<const Record> records);
  void run_by(const std::string& algorithm, const char* reason);
  void compute(Call& call, const SparseFactors<T>& factors, MatrixView<T> gradient, const Options& options);

  std::uint64_t object_ = 0;  // not 0 once prepared
  std::string environment_;   // what DSOP_ALGORITHM names
  Prepared prepared_;
  std::unique_ptr<Prepared> started_;  // of started calls, where that is another
  outer_product::Tries tries_;
  std::string tried_;                    // what has stayed of them; while they last how many are left
  double last_run_seconds_ = 0;          // without the agreement; for tries_
  KeptPlans<InUse> in_use_{most_plans};  // by shape
  KeptPlans<Made> plans_{most_plans};    // by shape and numbers
  const Made* made_ = nullptr;           // for the last call that was planned, in plans_
  mutable std::optional<Plan> shown_;    // for plan()
};

}  // namespace dsop
