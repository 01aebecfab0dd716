// Pending operations that keep their address and are used again, so that a message costs no allocation.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace dsop {

template <class Operation>
class Slots {
 public:
  /// The number of a slot that is free for use; its content is whatever it last held.
  std::size_t take() {
    if (free_.empty()) {
      operations_.emplace_back();
      free_.reserve(operations_.size());  // so that give_back can't fail
      return operations_.size() - 1;
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::size_t slot) noexcept { free_.push_back(slot); }
  Operation& operator[](std::size_t slot) { return operations_[slot]; }

 private:
  std::deque<Operation> operations_;
  std::vector<std::size_t> free_;
};

}  // namespace dsop
