// Large memory: results and what algorithms work in.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace dsop {

/// Memory aligned to a cache line, contents undefined; null if there is none.
void* allocate_lines(std::size_t bytes);
void free_lines(void* memory) noexcept;

/// For a std::vector whose elements lie there.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class Other>
  explicit LineAllocator(const LineAllocator<Other>&) {}
  T* allocate(std::size_t count) {
    void* const memory = allocate_lines(count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) noexcept { free_lines(memory); }
  bool operator==(const LineAllocator&) const = default;
};

/// Memory for `T`s, aligned to a cache line, contents undefined.
template <class T>
class Workspace {
 public:
  /// Throws std::bad_alloc, and then holds nothing.
  void resize(std::size_t bytes) {
    bytes_ = 0;
    memory_.reset();
    memory_.reset(static_cast<T*>(allocate_lines(bytes)));
    if (!memory_) throw std::bad_alloc();
    bytes_ = bytes;
  }
  /// Room for so many. Keeps what is there if it is enough, else as resize().
  std::span<T> at_least(std::size_t count) {
    if (count > elements().size()) resize(count * sizeof(T));
    return elements().first(count);
  }
  std::span<T> elements() const { return {memory_.get(), bytes_ / sizeof(T)}; }

 private:
  struct Free {
    void operator()(T* memory) const { free_lines(memory); }
  };
  std::unique_ptr<T[], Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace dsop
