// dsop-bench allreduce, broadcast and reduce: every algorithm on the same dense vectors, in one run.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/problem.hpp>
#include <dsop/transport.hpp>

#include "algorithms/dense/family.hpp"
#include "timing.hpp"

namespace dsop::bench {

struct CollectiveBenchOptions {
  Collective operation = Collective::allreduce;
  std::vector<std::size_t> sizes;
  int root = 0;                         ///< of a broadcast or reduce
  std::vector<std::string> algorithms;  ///< names, "auto", or "all"
  DataType type = DataType::f32;
  Protocol protocol;
  bool verify = false;
  std::string out;  ///< JSON lines are appended to it; empty: none
};

/// As benchmark_outer_product(), for dense vectors. `machine` is planned for; default: the transport's.
void benchmark_collective(Transport& transport, const CollectiveBenchOptions& options,
                          const std::optional<Machine>& machine);

}  // namespace dsop::bench
