// Which collective on dense vectors is cheapest.
#pragma once

#include <string>

#include <dsop/plan.hpp>

#include "algorithms/dense/algorithm.hpp"
#include "base/named.hpp"
#include "calls/header.hpp"

namespace dsop {

/// A pure function of the problem and the machine, so every rank has the same one.
struct CollectivePlan {
  const DenseAlgorithm* algorithm = nullptr;
  double parameter = 0;  ///< the number that the algorithm leaves open
  Cost cost = {};
  std::size_t workspace_bytes = 0;
  Wire wire = Wire::full;

  std::string algorithm_text() const { return dsop::algorithm_text(*algorithm, parameter); }
};

/// Of Operation::allreduce, broadcast or reduce.
const Registry<DenseAlgorithm>& collective_algorithms(Operation operation);

/// The plan for a problem, without communicating. `name` is that of one of `algorithms`, perhaps with its number, or
/// "auto": the least predicted time of those that do not run inside the MPI library. Throws ArgumentError when the name
/// is unknown (the text lists the known ones), or when it can't serve.
CollectivePlan make_collective_plan(const Registry<DenseAlgorithm>& algorithms, const DenseProblem& problem,
                                    const Machine& machine, const std::string& name);

}  // namespace dsop
