// Tables for people.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace dsop {

/// The lines with their columns below each other: the first `texts` to the left, numbers behind them to the right.
template <std::size_t columns>
std::string aligned_table(const std::vector<std::array<std::string, columns>>& lines, std::size_t texts) {
  std::array<std::size_t, columns> widths{};
  for (const auto& line : lines)
    for (std::size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], line[c].size());
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string gap(widths[c] - line[c].size(), ' ');
      text.append(c == 0 ? "" : "  ").append(c < texts ? line[c] + gap : gap + line[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace dsop
