// The names of the element types, for options and errors.
#pragma once

#include <string>
#include <vector>

#include <dsop/types.hpp>

namespace dsop {

inline std::vector<std::string> data_type_names() {
  std::vector<std::string> names;
  for (const DataType type : data_types) names.emplace_back(name(type));
  return names;
}

/// "f32, f64 or both"
inline std::string one_of(const std::vector<std::string>& names) {
  std::string list = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) list += (i + 1 < names.size() ? ", " : " or ") + names[i];
  return list;
}

}  // namespace dsop
