// Large memory that all ranks share: its contents mean nothing, and SMPI then moves no bytes of it.
#include "planning/workspace.hpp"

#define SMPI_NO_OVERRIDE_MALLOC
#include <smpi/smpi.h>

#include <cstdlib>
#include <set>

#include "simulation.hpp"

namespace dsop {
namespace {

std::set<void*>& folded_memory() {
  static std::set<void*> folded;
  return folded;
}

}  // namespace

void* allocate_lines(std::size_t bytes) {
  constexpr std::size_t line_bytes = 64;
  if (!simulated::simulation().folded || bytes < simulated::folded_from_bytes)
    return std::aligned_alloc(line_bytes, (bytes + line_bytes - 1) / line_bytes * line_bytes);
  void* const memory = smpi_shared_malloc(bytes, "dsop", 0);
  folded_memory().insert(memory);
  return memory;
}

void free_lines(void* memory) noexcept {
  if (folded_memory().erase(memory) > 0)
    smpi_shared_free(memory);
  else
    std::free(memory);
}

}  // namespace dsop
