// The truth about volume on the emulated cluster: what each host's interface has sent.
#pragma once

#include <cstddef>

namespace dsop::bench {

/// Whether this rank runs on a host of the emulated cluster (scripts/cluster sets DSOP_CLUSTER).
bool on_emulated_cluster();

/// Bytes that this host's eth0 has sent so far, all protocols' headers included.
std::size_t interface_bytes_sent();

}  // namespace dsop::bench
