// Messages under way, which keep their address and are used again, so that a message costs no allocation.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace dsop {

template <class Item>
class Slots {
 public:
  /// The number of a slot that is free for use; its content is whatever it last held.
  std::size_t take() {
    if (free_.empty()) {
      items_.emplace_back();
      free_.reserve(items_.size());  // so that give_back can't fail
      return items_.size() - 1;
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::size_t slot) noexcept { free_.push_back(slot); }
  Item& operator[](std::size_t slot) { return items_[slot]; }

 private:
  std::deque<Item> items_;
  std::vector<std::size_t> free_;
};

}  // namespace dsop
