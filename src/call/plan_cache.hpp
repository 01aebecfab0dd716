// Plans of earlier calls, found again by what they were made for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <utility>
#include <vector>

namespace dsop {

/// At most `most` plans. The least recently used one goes first. Ranks that find() and insert() the same keys in the
/// same order keep the same plans. Keys are compared by value.
template <class Plan>
class PlanCache {
 public:
  explicit PlanCache(std::size_t most) : most_(most) {}

  /// As find(), but does not count as a use of the plan, since ranks may ask before they have agreed.
  const Plan* peek(std::span<const std::uint64_t> key, std::uint64_t digest) {
    const auto found = place(key, digest);
    return found == kept_.end() ? nullptr : &found->plan;
  }
  /// The last that was used of those whose keys begin so; null if there is none.
  const Plan* latest(std::span<const std::uint64_t> beginning) const {
    const Kept* latest = nullptr;
    for (const Kept& kept : kept_)
      if (kept.key.size() > beginning.size() &&
          std::ranges::equal(std::span(kept.key).first(beginning.size()), beginning) &&
          (latest == nullptr || kept.last_use > latest->last_use))
        latest = &kept;
    return latest == nullptr ? nullptr : &latest->plan;
  }
  /// Null if there is none. Valid until that plan goes.
  Plan* find(std::span<const std::uint64_t> key, std::uint64_t digest) {
    const auto found = place(key, digest);
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
  /// Keeps that one's memory, which find() finds no more; null: none.
  void clear_but(const Plan* plan) {
    std::erase_if(kept_, [&](const Kept& kept) { return &kept.plan != plan; });
    for (Kept& kept : kept_) kept.key.clear();
  }

 private:
  struct Kept {
    std::vector<std::uint64_t> key;
    std::uint64_t digest;
    std::uint64_t last_use;
    Plan plan;
  };

  auto place(std::span<const std::uint64_t> key, std::uint64_t digest) {
    return std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
      return kept.digest == digest && std::equal(kept.key.begin(), kept.key.end(), key.begin(), key.end());
    });
  }

  std::size_t most_;
  std::uint64_t uses_ = 0;
  std::list<Kept> kept_;
};

}  // namespace dsop
