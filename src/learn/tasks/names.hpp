// Names as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dsop::learn {

/// Numbers names in the order in which they were added.
class Names {
 public:
  std::uint32_t add(const std::string& name) {
    const auto [place, is_new] = numbers_.emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return place->second;
  }
  /// `otherwise` for a name that was not added.
  std::uint32_t number(const std::string& name, std::uint32_t otherwise) const {
    const auto place = numbers_.find(name);
    return place == numbers_.end() ? otherwise : place->second;
  }
  const std::string& name(std::size_t number) const { return names_[number]; }
  std::size_t count() const { return names_.size(); }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> names_;
};

}  // namespace dsop::learn
