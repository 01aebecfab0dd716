// What dense gradients must have in common to share a bucket.
#pragma once

#include <string>

namespace dsop::synchronizer {

struct BucketKey {
  std::string algorithm = "auto";
  bool at_once = false;  ///< starts when it is full, and does not wait for finish()

  std::string text() const { return (at_once ? "overlapped " : "") + algorithm; }
};

}  // namespace dsop::synchronizer
