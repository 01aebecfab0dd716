// dsop-bench calibrate: the machine description, measured.
#pragma once

#include <dsop/machine.hpp>
#include <dsop/transport.hpp>

namespace dsop::bench {

/// Measures with all ranks busy at once, since that is how a call finds the machine. Medians; of several ranks the
/// slowest. With one rank the network's numbers stay the transport's defaults. Takes a few seconds.
Machine calibrate(Transport& transport);

}  // namespace dsop::bench
