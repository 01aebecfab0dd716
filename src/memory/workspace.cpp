#include "memory/workspace.hpp"

#include <cstdlib>

namespace dsop {

void* allocate_lines(std::size_t bytes) {
  constexpr std::size_t line_bytes = 64;
  return std::aligned_alloc(line_bytes, (bytes + line_bytes - 1) / line_bytes * line_bytes);
}

void free_lines(void* memory) noexcept {
  std::free(memory);
}

}  // namespace dsop
