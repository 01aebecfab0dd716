#include "memory.hpp"

#include <unistd.h>

#include <string>

#include <dsop/errors.hpp>

#include "simulation.hpp"

namespace dsop::bench {

void check_memory(Transport& transport, std::size_t needed_bytes) {
  if (simulated::simulation().folded) return;
  const auto available = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(getpagesize());
  const std::size_t needed = needed_bytes * static_cast<std::size_t>(transport.size());
  if (needed > available)
    throw ArgumentError("out of memory: the simulated ranks need " + std::to_string(needed) +
                        " bytes and this machine has " + std::to_string(available) +
                        "; without --real they share memory");
}

}  // namespace dsop::bench
