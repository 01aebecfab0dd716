// Which gradients share a bucket: a function of the order in which they come, their sizes and bucket keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
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
    bool is_alone;                      ///< too large to share: the bucket is complete
    std::optional<std::size_t> closed;  ///< the bucket that this one had no room in: complete
  };

  explicit Packing(std::size_t bucket_bytes) : bucket_bytes_(bucket_bytes) {}

  Place place(std::size_t bytes, const BucketKey& bucket_key) {
    if (bytes >= bucket_bytes_) return {buckets_++, true, true, {}};
    const auto same = [&](const Open& open) { return open.bucket_key == bucket_key; };
    const auto open = std::find_if(open_.begin(), open_.end(), same);
    if (open == open_.end()) {
      open_.push_back({buckets_, bytes, bucket_key});
      return {buckets_++, true, false, {}};
    }
    if (open->bytes + bytes <= bucket_bytes_) {
      open->bytes += bytes;
      return {open->bucket, false, false, {}};
    }
    const std::size_t closed = open->bucket;
    open->bucket = buckets_;
    open->bytes = bytes;
    return {buckets_++, true, false, closed};
  }

  /// Those that are not complete, in the order in which their key first came; complete from now on.
  std::vector<std::size_t> close_all() {
    std::vector<std::size_t> buckets = close([](const BucketKey&) { return true; });
    buckets_ = 0;
    return buckets;
  }
  /// The same of those whose key is such.
  template <class IsSuch>
  std::vector<std::size_t> close(const IsSuch& is_such) {
    std::vector<std::size_t> buckets;
    for (const Open& open : open_)
      if (is_such(open.bucket_key)) buckets.push_back(open.bucket);
    std::erase_if(open_, [&](const Open& open) { return is_such(open.bucket_key); });
    return buckets;
  }

 private:
  struct Open {
    std::size_t bucket;
    std::size_t bytes;
    BucketKey bucket_key;
  };

  std::size_t bucket_bytes_;
  std::size_t buckets_ = 0;  // so far
  std::vector<Open> open_;   // one for each key
};

}  // namespace dsop::synchronizer
