#include "memory.hpp"

#include <unistd.h>

#include <string>

#include <dsop/errors.hpp>

#include "simulation.hpp"

namespace dsop::bench {

namespace {

void check_available(const std::string& who_needs, std::size_t needed_bytes, const std::string& advice) {
  const auto available = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(getpagesize());
  if (needed_bytes > available)
    throw ArgumentError("out of memory: " + who_needs + " " + std::to_string(needed_bytes) +
                        " bytes and this machine has " + std::to_string(available) + advice);
}

}  // namespace

void check_memory(Transport& transport, std::size_t needed_bytes) {
  if (simulated::simulation().folded) return;
  check_available("the simulated ranks need", needed_bytes * static_cast<std::size_t>(transport.size()),
                  "; without --real they share memory");
}

void check_memory(std::size_t needed_bytes) {
  check_available("this needs", needed_bytes, "");
}

}  // namespace dsop::bench
