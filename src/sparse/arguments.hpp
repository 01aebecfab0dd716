// What can be wrong with a sparse matrix or vector.
#pragma once

#include <cstddef>
#include <string>

#include <dsop/sparse.hpp>

#include "base/check_aligned.hpp"
#include "base/checked.hpp"
#include "base/refuse.hpp"
#include "sparse/vector.hpp"

namespace dsop {

/// Throws ArgumentError naming the argument, its value and what was expected. Cost: a pass over offsets and indices.
template <class T>
void check_view(const std::string& argument, const SparseMatrixView<T>& view) {
  const auto element = [&](const char* array, std::size_t i) {
    return argument + "." + array + "[" + std::to_string(i) + "]";
  };
  const auto& offsets = view.row_offsets;
  const auto& indices = view.column_indices;
  checked_bytes(argument, {view.rows, view.columns, sizeof(T)});
  if (offsets.empty() && view.rows == 0) return;
  if (offsets.empty() || offsets.size() - 1 != view.rows)
    refuse(argument + ".row_offsets.size()", offsets.size(), argument + ".rows + 1 = " + std::to_string(view.rows + 1));
  if (indices.size() != view.values.size())
    refuse(argument + ".column_indices.size()", indices.size(),
           argument + ".values.size() = " + std::to_string(view.values.size()));
  check_aligned(offsets.data(), argument, ".row_offsets");
  check_aligned(indices.data(), argument, ".column_indices");
  check_aligned(view.values.data(), argument, ".values");
  if (offsets[0] != 0) refuse(element("row_offsets", 0), offsets[0], 0);
  for (std::size_t p = 0; p < view.rows; ++p)
    if (offsets[p + 1] < offsets[p])
      refuse(element("row_offsets", p + 1), offsets[p + 1],
             "at least " + element("row_offsets", p) + " = " + std::to_string(offsets[p]));
  if (offsets[view.rows] != indices.size())
    refuse(element("row_offsets", view.rows), offsets[view.rows],
           argument + ".column_indices.size() = " + std::to_string(indices.size()));
  for (std::size_t p = 0; p < view.rows; ++p)
    for (std::size_t e = offsets[p]; e < offsets[p + 1]; ++e) {
      if (indices[e] >= view.columns)
        refuse(element("column_indices", e), indices[e],
               "less than " + argument + ".columns = " + std::to_string(view.columns));
      if (e > offsets[p] && indices[e] <= indices[e - 1])
        refuse(element("column_indices", e), indices[e],
               "more than " + element("column_indices", e - 1) + " = " + std::to_string(indices[e - 1]) +
                   ", in the same row");
    }
}

/// The same for a vector in either form. Cost: a pass over the indices.
template <class T>
void check_vector(const std::string& argument, const SparseVectorView<T>& x) {
  checked_bytes(argument, {x.dimension, sizeof(T)});
  if (x.dimension > sparse::most_elements)
    refuse(argument + ".dimension", x.dimension, "at most " + std::to_string(sparse::most_elements));
  check_aligned(x.values.data(), argument, ".values");
  if (x.dense()) return;
  if (x.indices.size() != x.values.size())
    refuse(argument + ".values.size()", x.values.size(),
           argument + ".indices.size() = " + std::to_string(x.indices.size()) + ", or no indices and " + argument +
               ".dimension = " + std::to_string(x.dimension));
  check_aligned(x.indices.data(), argument, ".indices");
  const auto index = [&](std::size_t e) { return argument + ".indices[" + std::to_string(e) + "]"; };
  for (std::size_t e = 0; e < x.indices.size(); ++e) {
    if (x.indices[e] >= x.dimension)
      refuse(index(e), x.indices[e], "less than " + argument + ".dimension = " + std::to_string(x.dimension));
    if (e > 0 && x.indices[e] <= x.indices[e - 1])
      refuse(index(e), x.indices[e], "more than " + index(e - 1) + " = " + std::to_string(x.indices[e - 1]));
  }
}

}  // namespace dsop
