// How a parameter's gradient is summed, as its owner says.
#pragma once

#include <cstddef>
#include <string>

namespace dsop::synchronizer {

enum class Kind { outer_product, dense, sparse, top_k, none };

struct Policy {
  Kind kind = Kind::dense;
  std::string text = {};           ///< as it was given
  std::string algorithm = "auto";  ///< of the family that the kind stands for

  double density = 1;  ///< of what is selected

  bool at_once = false;  ///< travels during backpropagation, whatever SynchronizerOptions::overlap says

  /// Whether a part of the gradient stays behind.
  bool selects() const { return kind == Kind::top_k; }
  /// k, of so many elements: at least one.
  std::size_t k(std::size_t elements) const;
};

/// Throws ArgumentError naming what was expected.
Policy parse_policy(const std::string& text);

}  // namespace dsop::synchronizer
