// How a parameter's gradient is summed, as its owner says.
#pragma once

#include <cstddef>
#include <string>

namespace dsop::synchronizer {

enum class Kind { outer_product, dense, sparse, none };

struct Policy {
  Kind kind = Kind::dense;
  std::string text = {};           ///< as it was given
  std::string algorithm = "auto";  ///< of the family that the kind stands for

  /// Whether the gradient is the whole sum, so that nothing stays behind.
  bool exact() const { return kind != Kind::none; }
};

/// Throws ArgumentError naming what was expected.
Policy parse_policy(const std::string& text);

}  // namespace dsop::synchronizer
