// Plans of earlier calls, found again by what they were made for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace dsop {

/// At most `most` plans; the one that was not used for longest goes first. What is found and what goes depends on the
/// keys alone, so it is the same on ranks that make the same calls. Keys are compared by value.
template <class Plan>
class KeptPlans {
 public:
  explicit KeptPlans(std::size_t most) : most_(most) {}

  /// Null if there is none. Valid until the next insert() or clear().
  Plan* find(std::span<const std::uint64_t> key, std::uint64_t digest) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
      return kept.digest == digest && std::equal(kept.key.begin(), kept.key.end(), key.begin(), key.end());
    });
    if (found == kept_.end()) return nullptr;
    found->last_use = ++uses_;
    return &found->plan;
  }
  /// There is none for that key yet.
  Plan& insert(std::span<const std::uint64_t> key, std::uint64_t digest, Plan plan) {
    if (kept_.size() >= most_)
      kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                                   [](const Kept& l, const Kept& r) { return l.last_use < r.last_use; }));
    return kept_.emplace_back(Kept{{key.begin(), key.end()}, digest, ++uses_, std::move(plan)}).plan;
  }
  void clear() { kept_.clear(); }
  std::size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    std::vector<std::uint64_t> key;
    std::uint64_t digest;
    std::uint64_t last_use;
    Plan plan;
  };

  std::size_t most_;
  std::uint64_t uses_ = 0;
  std::vector<Kept> kept_;
};

}  // namespace dsop
