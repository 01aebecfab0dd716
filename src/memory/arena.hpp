// Memory of a step, shared out piece by piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <dsop/errors.hpp>
#include <dsop/problem.hpp>

namespace dsop {

/// Pieces of somebody else's memory, one after the other, each beginning at a cache line. An arena without memory
/// counts: a step describes its memory once, in a constructor that takes its pieces, and what that takes of an arena
/// that counts is exactly what it will take of a real one.
class Arena {
 public:
#ifdef NDEBUG
  static constexpr bool checks = false;
#else
  static constexpr bool checks = true;
#endif

  /// Counts. Its pieces have the right sizes, and must not be touched.
  Arena() = default;
  /// `memory` begins at a cache line and has room for all that will be taken. Where it `checks`, throws Error if it
  /// does not.
  explicit Arena(std::span<std::byte> memory)
      : begin_(reinterpret_cast<std::uintptr_t>(memory.data())), size_(memory.size()) {
    if (checks && begin_ % line_bytes != 0) throw Error("an arena's memory does not begin at a cache line");
  }

  /// Contents are undefined. Where it `checks`, throws Error if the piece does not fit.
  template <class Item>
  std::span<Item> take(std::size_t count) {
    const std::size_t first = (taken_ + line_bytes - 1) / line_bytes * line_bytes;
    if (count > 0) taken_ = first + count * sizeof(Item);
    most_ = std::max(most_, taken_);
    if (checks && taken_ > size_) refuse();
    return {reinterpret_cast<Item*>(begin_ + first), count};
  }

  /// For rewind().
  std::size_t mark() const {
    return taken_;
  }
  /// Gives back what has been taken since the mark was made, so that the pieces of the next phase overlay those of the
  /// last. Returns the arena.
  Arena& rewind(std::size_t mark) {
    taken_ = mark;
    return *this;
  }

  /// The most that was ever taken at once.
  std::size_t bytes() const {
    return most_;
  }

 private:
  static constexpr std::size_t line_bytes = 64;

  [[noreturn]] void refuse() const {
    throw Error("an arena's pieces take " + std::to_string(taken_) + " bytes, and it has " + std::to_string(size_));
  }

  std::uintptr_t begin_ = 0;
  std::size_t size_ = SIZE_MAX;
  std::size_t taken_ = 0;
  std::size_t most_ = 0;
};

/// What Memory<T>(arena, arguments...) takes, T being the type's. Static, as what calls it is: g++ 12 would take
/// equally named templates of different files' unnamed namespaces for one.
template <template <class> class Memory, class... Arguments>
static std::size_t counted_bytes(DataType type, const Arguments&... arguments) {
  Arena arena;
#define DSOP_COUNT(T) \
  if (type == data_type<T>) static_cast<void>(Memory<T>(arena, arguments...));
  DSOP_FOR_ELEMENT_TYPES(DSOP_COUNT)
#undef DSOP_COUNT
  return arena.bytes();
}

/// The same as the workspace_bytes of an algorithm whose Memory depends on the problem and its parameter.
template <template <class> class Memory, class Problem>
static std::size_t counted(const Problem& problem, double parameter) {
  return counted_bytes<Memory>(problem.type, problem, parameter);
}
template <template <class> class Memory, class Algorithm, class Problem>
static std::size_t counted(const Algorithm&, const Problem& problem, double parameter) {
  return counted_bytes<Memory>(problem.type, problem, parameter);
}

}  // namespace dsop
