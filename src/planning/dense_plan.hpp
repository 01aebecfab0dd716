// Which dense allreduce serves, and what it costs.
#pragma once

#include <string>

#include <dsop/machine.hpp>
#include <dsop/problem.hpp>

#include "dense/algorithm.hpp"

namespace dsop {

struct DensePlan {
  const DenseAlgorithm* algorithm = nullptr;
  double parameter = 0;  ///< the number that the algorithm leaves open
  Cost cost = {};

  std::string algorithm_text() const;  ///< with its parameter
};

/// A pure function, so every rank has the same plan. `algorithm` is a name, perhaps with its number, or "auto": the
/// least predicted time, never the MPI library's own, whose time is a guess. Throws ArgumentError when the name is
/// unknown, or can't serve.
DensePlan make_dense_plan(const DenseProblem& problem, const Machine& machine, const std::string& algorithm = "auto");

}  // namespace dsop
