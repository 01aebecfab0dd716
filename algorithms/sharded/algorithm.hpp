// Outer products of which every rank keeps its own rows: no gradient travels.
#pragma once

#include "algorithms/outer_product/algorithm.hpp"

namespace dsop {

/// For problems that are `sharded`. OuterProductCall::gradient is the calling rank's rows of G, with any stride; rank
/// r's are Plan::row_bounds[r] .. Plan::row_bounds[r + 1].
const Registry<OuterProductAlgorithm>& sharded_algorithms();

}  // namespace dsop
