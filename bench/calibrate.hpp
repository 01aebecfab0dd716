// dsop-bench calibrate: the machine description, measured.
#pragma once

#include <dsop/machine.hpp>
#include <dsop/transport.hpp>

namespace dsop::bench {

/// What machine(communicator) measures, at length and with ranks out of step, as they come to calls; and what only that
/// shows: how much arithmetic messages hide, for which a probe takes the ranks' share of a core, and what sparse
/// vectors' sums cost. With one rank the network's numbers stay the transport's defaults. Takes some seconds, half a
/// minute on hosts that 200 Mbit/s join.
Machine calibrate(Transport& transport);

}  // namespace dsop::bench
