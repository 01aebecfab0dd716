// The memory of the hosts that ranks run on.
#pragma once

#include <cstddef>
#include <vector>

#include <dsop/transport.hpp>

#include "launch/available_memory.hpp"

namespace dsop::launch {

/// The ranks on this rank's host, rising. All ranks call it; log2 P messages, 8 (P-1) bytes.
std::vector<int> ranks_on_this_host(Transport& transport);

/// Throws ArgumentError on every rank if the ranks of some host together need more memory than it has available: better
/// said than met. Each rank says what it needs.
void check_memory(Transport& transport, std::size_t needed_bytes);

/// The same for the calling process alone. Throws Error.
void check_memory(std::size_t needed_bytes);

}  // namespace dsop::launch
