// Where factors are packed.
#pragma once

#include <cstddef>
#include <memory>

namespace dsop::kernels {

inline constexpr std::size_t cache_line_bytes = 64;

/// Memory of the calling thread that grows as needed, starts at a cache line and is kept until the thread ends.
class PackMemory {
 public:
  /// At least `bytes` of it, with undefined contents. Throws std::bad_alloc.
  static std::byte* at_least(std::size_t bytes) {
    thread_local PackMemory memory;
    if (bytes > memory.bytes_) {
      memory.bytes_ = 0;
      memory.lines_ = std::make_unique_for_overwrite<Line[]>((bytes + cache_line_bytes - 1) / cache_line_bytes);
      memory.bytes_ = bytes;
    }
    return memory.lines_[0].bytes;
  }

 private:
  struct alignas(cache_line_bytes) Line {
    std::byte bytes[cache_line_bytes];
  };

  std::unique_ptr<Line[]> lines_;
  std::size_t bytes_ = 0;
};

}  // namespace dsop::kernels
