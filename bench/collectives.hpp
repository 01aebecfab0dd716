// dsop-bench allreduce, broadcast and reduce: every algorithm on the same dense vectors, in one run.
#pragma once

#include <cstddef>
#include <vector>

#include "algorithms/dense/operation.hpp"
#include "benchmark.hpp"

namespace dsop::bench {

struct CollectiveBenchOptions : BenchmarkOptions {
  Collective operation = Collective::allreduce;
  std::vector<std::size_t> sizes = {};
  int root = 0;  ///< of a broadcast or reduce
};

/// As benchmark_outer_product(), for dense vectors.
void benchmark_collective(Transport& transport, const CollectiveBenchOptions& options);

}  // namespace dsop::bench
