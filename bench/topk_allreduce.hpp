// dsop-bench sparse-allreduce --select: every sparse and every selecting allreduce on the same gradients, in one run.
#pragma once

#include "sparse_allreduce.hpp"

namespace dsop::bench {

/// As benchmark_sparse_allreduce(), of dense vectors: sparse allreduces get what options.selection selects of them,
/// dense ones all, and selecting ones select for themselves.
void benchmark_topk_allreduce(Transport& transport, const SparseBenchOptions& options);

}  // namespace dsop::bench
