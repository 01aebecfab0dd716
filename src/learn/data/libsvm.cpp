#include "learn/data/libsvm.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "learn/data/byte_range.hpp"
#include "learn/data/input_file.hpp"
#include "learn/data/text_file.hpp"

namespace dsop::learn {
namespace {

constexpr std::uint64_t most_features = std::uint64_t{1} << 32;

/// What is wrong with a line; who knows the line's number completes it.
struct BadLine {
  std::string what;
};

struct Number {
  float value = 0;
  bool too_small = false;  ///< for f32: the value is 0 or next to it
};

Number number(std::string_view word, const std::string& name) {
  const char* const end = word.data() + word.size();
  const char* const start = word.data() + (word.starts_with('+') && !word.starts_with("+-") ? 1 : 0);
  Number number;
  const auto [last, error] = std::from_chars(start, end, number.value);
  if (error == std::errc::invalid_argument || last != end)
    throw BadLine{name + " is " + in_quotes(word) + ", expected a number"};
  number.too_small = error != std::errc();  // or too large: strtof gives 0 or what is next to it, or infinity
  if (number.too_small) number.value = std::strtof(std::string(start, end).c_str(), nullptr);
  if (!std::isfinite(number.value))
    throw BadLine{name + " is " + in_quotes(word) + ", expected a finite number that f32 can hold"};
  return number;
}

float label_of(std::string_view word, Labels labels) {
  const auto [label, too_small] = number(word, "the label");
  if (labels == Labels::two_classes && (too_small || (label != -1 && label != 0 && label != 1 && label != 2)))
    throw BadLine{"the label is " + in_quotes(word) + ", expected -1 and 1, or 0 and 1, or 1 and 2"};
  return label;
}

void append_element(std::string_view word, std::size_t row_start, SparseSamples& samples) {
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) throw BadLine{"found " + in_quotes(word) + ", expected index:value"};
  const std::string_view index_word = word.substr(0, colon);
  std::uint64_t index = 0;
  const auto [last, error] = std::from_chars(index_word.data(), index_word.data() + index_word.size(), index);
  if (error == std::errc::invalid_argument || last != index_word.data() + index_word.size())
    throw BadLine{"the index is " + in_quotes(index_word) + ", expected a whole number"};
  if (error == std::errc() && index == 0)
    throw BadLine{
        "the index is 0, expected 1 or more: libsvm numbers features from 1, so add 1 to all indices of all files"};
  if (error != std::errc() || index > most_features)
    throw BadLine{"the index is " + in_quotes(index_word) + ", expected 1 to " + std::to_string(most_features)};
  if (samples.indices.size() > row_start && index - 1 <= samples.indices.back())
    throw BadLine{"index " + std::to_string(index) + " follows " +
                  std::to_string(std::uint64_t{samples.indices.back()} + 1) + ", expected indices that rise"};
  samples.values.push_back(number(word.substr(colon + 1), "the value of index " + std::to_string(index)).value);
  samples.indices.push_back(static_cast<std::uint32_t>(index - 1));
}

/// `line` without its end.
void append_sample(std::string_view line, Labels labels, SparseSamples& samples) {
  const std::size_t comment = line.find('#');
  const std::vector<std::string_view> words = words_of(line.substr(0, comment), " \t");
  if (words.empty() && comment != line.npos) return;
  if (words.empty()) throw BadLine{"is empty, expected a label"};
  samples.labels.push_back(label_of(words[0], labels));
  const bool has_query = words.size() > 1 && words[1].starts_with("qid:");  // which belongs to a ranking
  const std::size_t row_start = samples.indices.size();
  for (std::size_t w = has_query ? 2 : 1; w < words.size(); ++w) append_element(words[w], row_start, samples);
  samples.row_offsets.push_back(samples.indices.size());
}

/// Without the "\r" of its end. `line` is without the "\n", which the file's last may lack.
std::string_view without_return(std::string_view line, bool carriage_returns, bool is_ended) {
  const bool has_return = line.ends_with('\r');
  if (has_return != carriage_returns && (is_ended || has_return))
    throw BadLine{std::string("ends in ").append(carriage_returns ? "\\n" : "\\r\\n") +
                  ", expected the same as the first line"};
  if (has_return) line.remove_suffix(1);
  return line;
}

}  // namespace

SparseSamples read_libsvm(const std::filesystem::path& path, int part, int parts, Labels labels, const OpenFile& open) {
  const std::unique_ptr<launch::ReadableFile> file = open(path);
  const ByteRange range = read_byte_range(*file, path, part, parts);
  const std::string_view lines = range.lines;
  const std::size_t file_bytes = file->size_bytes();
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  SparseSamples samples;
  for (std::size_t start = range.first_byte == 0 && lines.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
       start < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', start), lines.size());
    const std::size_t first_byte = range.first_byte + start;
    const bool is_ended = end < lines.size();
    const bool is_last = range.first_byte + end + (is_ended ? 1 : 0) == file_bytes;
    try {
      const std::string_view line = without_return(lines.substr(start, end - start), range.carriage_returns, is_ended);
      if (is_last && range.first_byte + start > 0 && line.empty()) break;
      append_sample(line, labels, samples);
    } catch (const BadLine& bad) {
      fail_at(path, line_of_byte(*file, first_byte), bad.what);
    }
    start = end + 1;
  }
  return samples;
}

void write_libsvm(std::ostream& out, int label, std::span<const Feature> features) {
  out << label;
  for (const Feature& feature : features) {
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), feature.value);
    out << ' ' << std::uint64_t{feature.index} + 1 << ':' << std::string_view(digits.data(), end);
  }
  out << '\n';
}

}  // namespace dsop::learn
