// dsop-bench allreduce, broadcast, reduce and sparse-allreduce: every algorithm on the same vectors, in one run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "algorithms/dense/operation.hpp"
#include "benchmark.hpp"
#include "sparse_inputs.hpp"

namespace dsop::bench {

struct CollectiveBenchOptions : BenchmarkOptions {
  Collective operation = Collective::allreduce;
  std::vector<std::size_t> sizes = {};
  int root = 0;  ///< of a broadcast or reduce
};

/// As benchmark_outer_product(), for dense vectors.
void benchmark_collective(Transport& transport, const CollectiveBenchOptions& options);

struct SparseBenchOptions : BenchmarkOptions {
  std::vector<std::size_t> sizes = {};
  std::vector<double> densities = {};
  Distribution distribution = Distribution::uniform;
  std::string selection = {};        ///< a name of that family; empty: vectors are made sparse
  bool communication_alone = false;  ///< the selection is not timed
};

/// As benchmark_outer_product(), for sums of sparse vectors. With a selection vectors are dense: sparse allreduces get
/// what it selects of them, dense ones all, and selecting ones select for themselves. What is verified then is that
/// what left all ranks, added up, is the sum.
void benchmark_sparse_allreduce(Transport& transport, const SparseBenchOptions& options);

}  // namespace dsop::bench
