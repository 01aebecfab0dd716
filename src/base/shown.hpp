// Texts of files and arguments as messages show them: they may be long, and hold what a terminal would obey.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dsop {

/// Bytes of the printable character that `text` begins with; 0 where that is a control character or no UTF-8.
inline std::size_t printable_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= ' ' && first != 0x7f ? 1 : 0;
  const bool is_control = first == 0xc2 && byte(1) < 0xa0;
  if (first < 0xc2 || first > 0xf4 || is_control) return 0;
  const std::size_t count = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (std::size_t i = 1; i < count; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return count;
}

/// `text` with \x1b and the like in place of what can't be printed, but for the characters `kept`.
inline std::string printable(std::string_view text, std::string_view kept = "") {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  while (!text.empty()) {
    std::size_t bytes = kept.find(text[0]) != kept.npos ? 1 : printable_bytes(text);
    if (bytes > 0) {
      result += text.substr(0, bytes);
    } else {
      const auto byte = static_cast<unsigned char>(text[0]);
      result.append("\\x").append(1, digits[byte / 16]).append(1, digits[byte % 16]);
      bytes = 1;
    }
    text.remove_prefix(bytes);
  }
  return result;
}

/// A whole message, perhaps of several lines.
inline std::string printable_lines(std::string_view message) {
  return printable(message, "\n\t");
}

/// A value: printable, and cut off where it is long.
inline std::string shown(std::string_view value, std::size_t most_bytes = 200) {
  return printable(value.substr(0, most_bytes)) + (value.size() > most_bytes ? "..." : "");
}

/// A word of a file: the same, at most 40 bytes of it, between quotes.
inline std::string in_quotes(std::string_view word) {
  constexpr std::size_t most_bytes = 40;
  return '"' + printable(word.substr(0, most_bytes)) + (word.size() > most_bytes ? "\"..." : "\"");
}

}  // namespace dsop
