// Which element types a benchmark of a kernel measures, and what differs between them.
#pragma once

#include <string>
#include <vector>

#include "base/data_type_names.hpp"
#include "base/largest_inner_dimension.hpp"
#include "kernels/blas_info.hpp"

namespace dsop::bench {

/// The names that --dtype takes there.
inline std::vector<std::string> names_of_types() {
  std::vector<std::string> names = data_type_names();
  names.emplace_back("both");
  return names;
}

/// The type of that name, or all for "both"; none for any other text.
inline std::vector<DataType> types_named(const std::string& text) {
  std::vector<DataType> types;
  for (const DataType type : data_types)
    if (text == "both" || text == name(type)) types.push_back(type);
  return types;
}

/// "inner dimensions up to 192 for f32, 128 for f64; above: OpenBLAS", or why ours makes all.
inline std::string inner_dimensions_of_our_kernel() {
  if (!kernels::has_blas()) return "every inner dimension: no OpenBLAS in this build";
  if (!kernels::blas_keeps_up_with(best_instruction_set()))
    return "every inner dimension: OpenBLAS's core " + std::string(kernels::blas_core_name()) + " has no " +
           std::string(name(best_instruction_set())) + " (OPENBLAS_CORETYPE names another)";
  std::string text;
  for (const DataType type : data_types) {
    const std::size_t largest = visit(type, []<class T>(T) { return largest_inner_dimension<T>; });
    text.append(text.empty() ? "inner dimensions up to " : ", ").append(std::to_string(largest)).append(" for ");
    text.append(name(type));
  }
  return text + "; above: OpenBLAS";
}

}  // namespace dsop::bench
