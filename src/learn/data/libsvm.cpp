#include "learn/data/libsvm.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>

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
  if (labels == Labels::two_classes && (too_small || (label != -1 && label != 0 && label != 1)))
    throw BadLine{"the label is " + in_quotes(word) + ", expected -1 or 0, or 1"};
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
  if (error != std::errc() || index == 0 || index > most_features)
    throw BadLine{"the index is " + in_quotes(index_word) + ", expected 1 to " + std::to_string(most_features)};
  if (samples.indices.size() > row_start && index - 1 <= samples.indices.back())
    throw BadLine{"index " + std::to_string(index) + " follows " +
                  std::to_string(std::uint64_t{samples.indices.back()} + 1) + ", expected indices that rise"};
  samples.values.push_back(number(word.substr(colon + 1), "the value of index " + std::to_string(index)).value);
  samples.indices.push_back(static_cast<std::uint32_t>(index - 1));
}

/// `line` without its "\n".
void append_sample(std::string_view line, bool carriage_returns, Labels labels, SparseSamples& samples) {
  if (line.ends_with('\r') != carriage_returns)
    throw BadLine{std::string("ends in ").append(carriage_returns ? "\\n" : "\\r\\n") +
                  ", expected the same as the first line"};
  if (carriage_returns) line.remove_suffix(1);
  const std::size_t row_start = samples.indices.size();
  bool has_label = false;
  for (const std::string_view word : words_of(line, " \t")) {
    if (has_label)
      append_element(word, row_start, samples);
    else
      samples.labels.push_back(label_of(word, labels));
    has_label = true;
  }
  if (!has_label) throw BadLine{"is empty, expected a label"};
  samples.row_offsets.push_back(samples.indices.size());
}

}  // namespace

SparseSamples read_libsvm(const std::filesystem::path& path, int part, int parts, Labels labels, const OpenFile& open) {
  const std::unique_ptr<launch::ReadableFile> file = open(path);
  const ByteRange range = read_byte_range(*file, path, part, parts);
  const std::string_view lines = range.lines;
  const std::size_t file_bytes = file->size_bytes();
  SparseSamples samples;
  for (std::size_t start = 0; start < lines.size();) {
    const std::size_t end = lines.find('\n', start);
    const std::size_t first_byte = range.first_byte + start;
    const bool is_last = range.first_byte + end + 1 == file_bytes;
    if (is_last && first_byte > 0 && lines.substr(start, end - start) == (range.carriage_returns ? "\r" : "")) break;
    try {
      append_sample(lines.substr(start, end - start), range.carriage_returns, labels, samples);
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
