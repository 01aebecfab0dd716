// Memory that is shared out piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dsop::sparse {

/// Pieces of somebody else's memory, each beginning at a cache line. Does not look whether there is enough.
class Room {
 public:
  explicit Room(std::span<std::byte> memory) : rest_(memory) {}

  template <class Item>
  std::span<Item> take(std::size_t count) {
    const std::span<std::byte> here = rest();
    rest_ = here.subspan(count * sizeof(Item));
    return {reinterpret_cast<Item*>(here.data()), count};
  }
  /// All that is left, from a cache line on.
  std::span<std::byte> rest() const {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(rest_.data()) % line_bytes;
    return rest_.subspan(past == 0 ? 0 : line_bytes - past);
  }

  /// What a piece takes at most.
  template <class Item>
  static constexpr std::size_t bytes(std::size_t count) {
    return count * sizeof(Item) + line_bytes;
  }

 private:
  static constexpr std::size_t line_bytes = 64;
  std::span<std::byte> rest_;
};

}  // namespace dsop::sparse
