// What ranks must have in common to understand each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <dsop/dsop.h>
#include <dsop/errors.hpp>

namespace dsop {

/// Of Record and whatever else ranks send each other: one more with each change.
constexpr int record_format = 4;

/// "0.1.0, record format 4".
inline std::string own_version() {
  return std::to_string(DSOP_VERSION_MAJOR) + '.' + std::to_string(DSOP_VERSION_MINOR) + '.' +
         std::to_string(DSOP_VERSION_PATCH) + ", record format " + std::to_string(record_format);
}

/// Throws TransportError unless the ranks' own_version()s are one.
inline void expect_one_version(const std::vector<std::string>& versions) {
  for (std::size_t rank = 1; rank < versions.size(); ++rank)
    if (versions[rank] != versions[0])
      throw TransportError("the ranks disagree: dsop is " + versions[0] + ", on rank 0; " + versions[rank] +
                           ", on rank " + std::to_string(rank));
}

}  // namespace dsop
