// Which element types a benchmark of a kernel measures, and what differs between them.
#pragma once

#include <string>
#include <vector>

#include "base/data_type_names.hpp"
#include "base/largest_inner_dimension.hpp"

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

/// "192 for f32, 128 for f64"
inline std::string largest_inner_dimensions() {
  std::string text;
  for (const DataType type : data_types) {
    const std::size_t largest = visit(type, []<class T>(T) { return largest_inner_dimension<T>; });
    text.append(text.empty() ? "" : ", ").append(std::to_string(largest)).append(" for ").append(name(type));
  }
  return text;
}

}  // namespace dsop::bench
