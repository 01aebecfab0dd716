// Large memory that all ranks share: its contents mean nothing, and SMPI then moves no bytes of it. What has the same
// size is the same memory, mapped once: SMPI alone would map it, every page of it, for each rank.
#include "memory/workspace.hpp"

#define SMPI_NO_OVERRIDE_MALLOC
#include <smpi/smpi.h>

#include <cstdlib>
#include <set>
#include <string>

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
  const std::string size = std::to_string(bytes);
  if (smpi_shared_known_call("folded", size.c_str()) == 0)
    smpi_shared_set_call("folded", size.c_str(), smpi_shared_malloc(bytes, "dsop", 0));
  void* const memory = smpi_shared_get_call("folded", size.c_str());
  folded_memory().insert(memory);
  return memory;
}

void free_lines(void* memory) noexcept {
  if (folded_memory().count(memory) == 0) std::free(memory);
}

}  // namespace dsop
