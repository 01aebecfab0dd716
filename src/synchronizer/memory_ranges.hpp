// Ranges of memory in the order of their addresses, so that a new one is compared with its neighbours alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "sparse/overlap.hpp"

namespace dsop::synchronizer {

/// Keeps its memory from step to step.
class MemoryRanges {
 public:
  void clear() { entries_.clear(); }

  /// A range that `owner` has; one without elements is left out.
  void add(const MemoryRange& range, std::size_t owner) {
    if (range.empty()) return;
    const auto at = after(range.first);
    const std::uintptr_t last_before = at == entries_.begin() ? 0 : std::prev(at)->last_so_far;
    auto entry = entries_.insert(at, {range, std::max(last_before, range.last), owner});
    while (++entry != entries_.end() && entry->last_so_far < range.last) entry->last_so_far = range.last;
  }

  /// Calls take(owner) for every range that meets this one.
  template <class Take>
  void each_that_meets(const MemoryRange& range, const Take& take) const {
    for (auto entry = after(range.last); entry != entries_.begin();) {
      --entry;
      if (entry->last_so_far < range.first) return;
      if (meet(entry->range, range)) take(entry->owner);
    }
  }

 private:
  struct Entry {
    MemoryRange range;
    std::uintptr_t last_so_far;  // the largest of this and of those before it
    std::size_t owner;
  };

  std::vector<Entry>::const_iterator after(std::uintptr_t address) const {
    return std::upper_bound(entries_.begin(), entries_.end(), address,
                            [](std::uintptr_t left, const Entry& right) { return left < right.range.first; });
  }

  std::vector<Entry> entries_;  // by their first addresses
};

}  // namespace dsop::synchronizer
