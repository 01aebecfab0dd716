#include "memory/workspace.hpp"

#include <cstdlib>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace dsop {
namespace {

constexpr std::size_t line_bytes = 64;

#ifdef MADV_HUGEPAGE
// Memory that is touched for the first time takes a page fault for each page: 8 MiB took 23 ms on each of eight ranks
// that shared two cores, by pages of 4 KiB. Systems give huge pages to those who ask.
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

void* allocate_huge_pages(std::size_t bytes) {
  void* const memory =
      std::aligned_alloc(huge_page_bytes, (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes);
  if (memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);  // where there are none, small ones do
  return memory;
}
#endif

}  // namespace

void* allocate_lines(std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes >= 2 * huge_page_bytes) return allocate_huge_pages(bytes);
#endif
  return std::aligned_alloc(line_bytes, (bytes + line_bytes - 1) / line_bytes * line_bytes);
}

void free_lines(void* memory) noexcept {
  std::free(memory);
}

}  // namespace dsop
