// Who wins where, as text.
#pragma once

#include <ostream>
#include <vector>

#include "plan.hpp"

namespace dsop::bench {

/// With one rate a map over shapes and pairs for each number of ranks, with several a map over ranks and rates for each
/// shape and number of pairs. A cell is the sign of what auto takes and its gain over the fastest that sends G alone;
/// the signs are told below.
void print_maps(std::ostream& out, const std::vector<Forecast>& forecasts);

}  // namespace dsop::bench
