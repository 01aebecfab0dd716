#include "counted_memory.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> count = 0;
std::atomic<std::size_t> bytes = 0;
thread_local std::size_t until_failure = 0;

bool fails_now() {
  return until_failure > 0 && --until_failure == 0;
}

void* counted(void* memory) {
  ++count;
  bytes += malloc_usable_size(memory);
  return memory;
}

void* allocate(std::size_t size) {
  void* const memory = fails_now() ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return counted(memory);
}

void release(void* memory) {
  bytes -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate(size);
}
void* operator new[](std::size_t size) {
  return allocate(size);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory);
}

// In place of the C library's. What it gives is freed by free(), so its bytes are counted as never given back.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
  void* memory = nullptr;
  return !fails_now() && posix_memalign(&memory, alignment, size) == 0 ? counted(memory) : nullptr;
}

namespace dsop::tests {

std::size_t allocations() {
  return count;
}
std::size_t allocated_bytes() {
  return bytes;
}
std::size_t& allocations_until_failure() {
  return until_failure;
}

}  // namespace dsop::tests
