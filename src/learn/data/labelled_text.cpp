#include "learn/data/labelled_text.hpp"

#include <algorithm>

#include "learn/data/input_file.hpp"
#include "learn/data/text_file.hpp"
#include "learn/data/unicode.hpp"

namespace dsop::learn {

std::vector<LabelledText> read_labelled_text(const std::filesystem::path& path) {
  const std::string bytes = read_text(path);
  const bool utf8 = from_utf8(bytes).has_value();
  std::vector<LabelledText> texts;
  std::vector<std::string_view> lines = lines_of(bytes, path);
  if (lines.size() > 1 && lines.back().empty()) lines.pop_back();
  for (const std::string_view line : lines) {
    const std::size_t number = texts.size() + 1;
    const auto tabs = std::count(line.begin(), line.end(), '\t');
    if (tabs != 1) fail_at(path, number, "has " + std::to_string(tabs) + " tabs, expected a label, one tab and a text");
    const std::string_view label = line.substr(0, line.find('\t'));
    const std::string_view text = line.substr(label.size() + 1);
    if (label.empty()) fail_at(path, number, "has no label, expected one before the tab");
    if (text.empty()) fail_at(path, number, "has no text, expected some after the tab");
    texts.push_back({std::string(label), utf8 ? *from_utf8(text) : from_latin1(text)});
  }
  return texts;
}

}  // namespace dsop::learn
