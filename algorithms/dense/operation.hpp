// The calls of collectives on dense vectors: allreduce, broadcast and reduce.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <dsop/collectives.hpp>
#include <dsop/plan.hpp>

#include "algorithms/dense/algorithm.hpp"
#include "base/named.hpp"
#include "call/planned.hpp"

namespace dsop {

enum class Collective : unsigned char { allreduce, broadcast, reduce };

constexpr const char* name(Collective collective) {
  if (collective == Collective::broadcast) return "broadcast";
  return collective == Collective::reduce ? "reduce" : "allreduce";
}
const Registry<DenseAlgorithm>& algorithms_of(Collective collective);

using DensePlan = PlanOf<DenseAlgorithm, DenseProblem>;

/// The plan for a problem, without communicating. `name` is that of one of `algorithms`, perhaps with its number, or
/// "auto": the least predicted time, of the MPI library's own only if the problem allows it. Throws ArgumentError when
/// the name is unknown (the text lists the known ones), or when it can't serve.
DensePlan make_dense_plan(const Registry<DenseAlgorithm>& algorithms, const DenseProblem& problem,
                          const Machine& machine, const std::string& name);

/// What a communicator, or a bucket of a synchronizer, keeps from call to call.
struct DenseCalls : PlannedCalls<Planned<DensePlan>> {
  DenseCalls() : PlannedCalls(64) {}
};

/// A call, for DenseCalls::run().
template <class T>
struct DenseOperation {
  Collective collective;
  std::size_t elements;
  const std::string& algorithm;
  const std::optional<Machine>& machine;
  int root = 0;
  Wire wire = Wire::full;  ///< bf16 for T float alone
  bool allow_native = false;
  double scale = 1;        ///< for the ranks to compare, no more
  std::span<T> data = {};  ///< of so many elements, once check() has ended well

  Call open(Transport& transport) const { return {transport, name(collective), elements, 1, data_type<T>}; }
  void check(const Call& call) const;
  void say(Call& call) const;
  void make(const Call& call, Planned<DensePlan>& made) const;
  void run(const Call& call, const Planned<DensePlan>& made) const;
};

}  // namespace dsop
