// What policies share that send indices.
#pragma once

#include "base/refuse.hpp"
#include "sparse/vector.hpp"
#include "synchronizer/policy.hpp"

namespace dsop::synchronizer {

/// What travels with indices must not have too many elements for them.
inline void check_indices(const PolicyText& text, const Shape& shape) {
  const std::size_t elements = shape.rows * shape.columns;
  if (elements > sparse::most_elements)
    refuse("the number of elements under policy " + text.whole, elements,
           "at most " + std::to_string(sparse::most_elements));
}

}  // namespace dsop::synchronizer
