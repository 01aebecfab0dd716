// The truth about volume on the emulated cluster: what each host's interface has sent.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <dsop/transport.hpp>

namespace dsop::bench {

/// Whether this rank runs on a host of the emulated cluster (scripts/cluster sets DSOP_CLUSTER).
bool on_emulated_cluster();

/// On the emulated cluster, of each host: bytes that its eth0 sends while the ranks make the call, all protocols'
/// headers included. Elsewhere: none. All ranks must call it.
std::vector<std::size_t> wire_bytes(Transport& transport, const std::function<void()>& call);

}  // namespace dsop::bench
