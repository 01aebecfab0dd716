// The calls of collectives on dense vectors: allreduce, broadcast and reduce.
#pragma once

#include <span>
#include <string>

#include <dsop/collectives.hpp>
#include <dsop/plan.hpp>

#include "algorithms/dense/algorithm.hpp"
#include "base/named.hpp"
#include "calls/call.hpp"
#include "calls/choose.hpp"
#include "calls/kept_plans.hpp"

namespace dsop {

enum class Collective : unsigned char { allreduce, broadcast, reduce };

constexpr const char* name(Collective collective) {
  if (collective == Collective::broadcast) return "broadcast";
  return collective == Collective::reduce ? "reduce" : "allreduce";
}
const Registry<DenseAlgorithm>& algorithms_of(Collective collective);

/// A pure function of the problem and the machine, so every rank has the same one.
struct DensePlan {
  const DenseAlgorithm* algorithm = nullptr;
  double parameter = 0;  ///< the number that the algorithm leaves open
  Cost cost = {};
  std::size_t workspace_bytes = 0;
  Wire wire = Wire::full;
  double agreement_seconds = 0;  ///< of what opens the call

  double seconds() const { return agreement_seconds + cost.seconds(); }
  std::string algorithm_text() const { return dsop::algorithm_text(*algorithm, parameter); }
};

/// The plan for a problem, without communicating. `name` is that of one of `algorithms`, perhaps with its number, or
/// "auto": the least predicted time, of the MPI library's own only if the problem allows it. Throws ArgumentError when
/// the name is unknown (the text lists the known ones), or when it can't serve.
DensePlan make_dense_plan(const Registry<DenseAlgorithm>& algorithms, const DenseProblem& problem,
                          const Machine& machine, const std::string& name);

/// What a communicator, or a bucket of a synchronizer, keeps from call to call.
template <class T>
class DenseCalls {
 public:
  static constexpr std::size_t most_plans = 64;

  void run(Transport& transport, Collective collective, std::span<T> data, int root, const CollectiveOptions& options);

  /// What the ranks say alike of a call. Of the options algorithm, scale (for the ranks to compare, no more), machine
  /// and wire (bf16 for T float alone) play a part.
  struct Terms {
    Collective collective;
    std::size_t elements;
    int root;
    const std::string& algorithm;
    double scale = 1;
    const std::optional<Machine>& machine;
    Wire wire = Wire::full;
    bool allow_native = false;
  };
  /// Agrees on a call and plans for it: all ranks will run_agreed().
  void agree(Call& call, const Terms& terms);
  void run_agreed(Call& call, std::span<T> data, int root) const;

  /// Of the last call.
  const DensePlan& plan() const { return *plan_; }

 private:
  KeptPlans<DensePlan> plans_{most_plans};
  const DensePlan* plan_ = nullptr;  // in plans_
};

}  // namespace dsop
