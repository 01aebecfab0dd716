#include "learn/data/text_file.hpp"

#include <algorithm>

#include "learn/data/input_file.hpp"

namespace dsop::learn {

std::string read_text(const std::filesystem::path& path) {
  std::string text = InputFile(path).read_rest();
  if (text.empty()) fail(path, "is empty, expected text");
  if (const std::size_t zero = text.find('\0'); zero != std::string::npos) {
    const auto ends = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
    fail_at(path, static_cast<std::size_t>(ends) + 1, "holds a byte 0, expected text");
  }
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text, const std::filesystem::path& path, LastLine last_line) {
  std::vector<std::string_view> lines;
  bool first_has_return = false;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t number = lines.size() + 1;
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const bool ended = end < text.size();
    if (!ended && last_line == LastLine::must_end)
      fail_at(path, number, "ends without a line end, expected one: was the file cut off?");
    std::string_view line = text.substr(start, end - start);
    const bool has_return = ended && line.ends_with('\r');
    if (has_return) line.remove_suffix(1);
    if (number == 1) first_has_return = has_return;
    if (ended && has_return != first_has_return)
      fail_at(path, number,
              std::string("ends in ").append(has_return ? "\\r\\n" : "\\n") + ", expected the same as all lines above");
    if (line.find('\r') != std::string_view::npos)
      fail_at(path, number, "has a \\r within it, expected one only at the end");
    lines.push_back(line);
    start = end + 1;
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line, std::string_view separators) {
  std::vector<std::string_view> words;
  for (std::size_t start = 0; (start = line.find_first_not_of(separators, start)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(separators, start), line.size());
    words.push_back(line.substr(start, end - start));
    start = end;
  }
  return words;
}

}  // namespace dsop::learn
