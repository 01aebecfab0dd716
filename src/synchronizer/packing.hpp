// Which gradients share a bucket: a function of the order in which they come, their sizes and bucket keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dsop/problem.hpp>

namespace dsop::synchronizer {

/// What they must have in common.
struct BucketKey {
  std::string algorithm = "auto";  ///< of the family "dense", or an allgather of factors
  bool at_once = false;            ///< its bucket starts when it is full, without SynchronizerOptions::overlap too
  std::optional<Wire> factor_wire = std::nullopt;  ///< factors travel, written so, in place of gradients

  bool operator==(const BucketKey&) const = default;
};

class Packing {
 public:
  struct Place {
    std::size_t bucket;                 ///< from 0, each used once
    bool is_first;                      ///< in its bucket
    bool is_complete;                   ///< it takes no more: what came last was too large to share, or was enough
    std::optional<std::size_t> closed;  ///< the bucket that this one had no room in: complete
  };

  explicit Packing(std::size_t bucket_bytes) : bucket_bytes_(bucket_bytes) {}

  Place place(std::size_t bytes, const BucketKey& bucket_key) {
    if (bytes >= bucket_bytes_) return {buckets_++, true, true, {}};
    OfKey& of_key = find(bucket_key);
    std::optional<std::size_t> closed;
    if (of_key.bytes + bytes > bucket_bytes_) closed = close(of_key);
    const bool is_first = !of_key.open;
    if (is_first) of_key.open = buckets_++;
    const std::size_t bucket = *of_key.open;
    of_key.bytes += bytes;
    const bool is_complete = of_key.bytes >= of_key.enough_bytes;
    if (is_complete) close(of_key);
    return {bucket, is_first, is_complete, closed};
  }

  /// The one that is open; complete from now on.
  std::optional<std::size_t> close(const BucketKey& bucket_key) { return close(find(bucket_key)); }
  /// All that are open, in the order in which their key first came; the next is bucket 0.
  std::vector<std::size_t> close_all() {
    std::vector<std::size_t> buckets;
    for (OfKey& of_key : keys_)
      if (const auto open = close(of_key)) buckets.push_back(*open);
    keys_.clear();
    buckets_ = 0;
    return buckets;
  }

 private:
  struct OfKey {
    BucketKey bucket_key;
    std::size_t enough_bytes;  // of a bucket that is complete
    std::optional<std::size_t> open = {};
    std::size_t bytes = 0;  // in that
  };

  // A step's first bucket of factors is small, so that something travels while the rest is made.
  OfKey& find(const BucketKey& bucket_key) {
    const auto same = [&](const OfKey& of_key) { return of_key.bucket_key == bucket_key; };
    const auto found = std::ranges::find_if(keys_, same);
    if (found != keys_.end()) return *found;
    return keys_.emplace_back(OfKey{bucket_key, bucket_key.factor_wire ? bucket_bytes_ / 16 : bucket_bytes_});
  }
  std::optional<std::size_t> close(OfKey& of_key) {
    if (!of_key.open) return {};
    of_key.bytes = 0;
    of_key.enough_bytes = bucket_bytes_;
    return std::exchange(of_key.open, std::nullopt);
  }

  std::size_t bucket_bytes_;
  std::size_t buckets_ = 0;  // so far
  std::vector<OfKey> keys_;  // in the order in which they came
};

}  // namespace dsop::synchronizer
