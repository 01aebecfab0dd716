// dsop-bench sparse-allreduce: every sparse allreduce on the same vectors, in one run.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/problem.hpp>
#include <dsop/transport.hpp>

#include "sparse_inputs.hpp"
#include "timing.hpp"

namespace dsop::bench {

struct SparseBenchOptions {
  std::vector<std::size_t> sizes;
  std::vector<double> densities;
  Distribution distribution = Distribution::uniform;
  std::vector<std::string> algorithms;  ///< names, "auto", or "all"
  DataType type = DataType::f32;
  Wire wire = Wire::full;
  Protocol protocol;
  bool verify = false;
  std::string out;  ///< JSON lines are appended to it; empty: none
  std::optional<Machine> machine;
  std::string selection;  ///< a name of that family; empty: vectors are made sparse
  bool communication_alone = false;
};

/// As benchmark_outer_product(), for sums of sparse vectors.
void benchmark_sparse_allreduce(Transport& transport, const SparseBenchOptions& options);

}  // namespace dsop::bench
