// Memory that is not there: better said than met. Of dsop-bench too.
#pragma once

#include <cstddef>

#include <dsop/transport.hpp>

namespace dsop::learn {

/// Throws ArgumentError on every rank if the ranks of some host together need more memory than it has available
/// (Linux's MemAvailable): Linux would grant it, and end the process when it is touched. Each rank says what it needs.
void check_memory(Transport& transport, std::size_t needed_bytes);

/// The same for the calling process alone. Throws Error.
void check_memory(std::size_t needed_bytes);

}  // namespace dsop::learn
