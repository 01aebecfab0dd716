// What the agreement takes that opens a call.
#pragma once

#include <cstddef>
#include <vector>

#include <dsop/machine.hpp>

#include "call/communicator.hpp"
#include "patterns/network.hpp"
#include "patterns/steps.hpp"

namespace dsop {

/// Bruck's allgather of all ranks' records, each with so many bytes of factors behind it. `nodes` as in Problem.
inline double agreement_seconds(const Machine& machine, const std::vector<int>& nodes, int ranks,
                                std::size_t piggybacked_bytes = 0) {
  return patterns::bruck_seconds({machine, nodes, ranks}, SlotLengths::with_record(piggybacked_bytes));
}

}  // namespace dsop
