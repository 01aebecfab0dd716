// What selections work in, kept from call to call.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/magnitude.hpp"
#include "sparse/vector.hpp"

namespace dsop::selection {

/// Items that come to no more than were asked for before stay where they are; contents are undefined.
template <class Item>
class Kept {
 public:
  /// Throws std::bad_alloc.
  std::span<Item> at_least(std::size_t count) {
    if (count > size_) {
      size_ = 0;
      items_ = std::make_unique_for_overwrite<Item[]>(count);
      size_ = count;
    }
    return {items_.get(), count};
  }

 private:
  std::unique_ptr<Item[]> items_;
  std::size_t size_ = 0;
};

template <class T>
struct Memory {
  Kept<kernels::Key<T>> keys;         ///< of candidates for the k-th largest
  Kept<std::size_t> counts;           ///< by thread
  Kept<sparse::Index> piece_indices;  ///< what all threads but the first have chosen
  Kept<T> piece_values;
  std::vector<Memory> of_threads;  ///< of selections that are made side by side
};

}  // namespace dsop::selection
