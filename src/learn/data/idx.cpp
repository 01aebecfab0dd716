#include "learn/data/idx.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <limits>
#include <optional>
#include <span>
#include <sstream>
#include <string>

#include "learn/data/input_file.hpp"

namespace dsop::learn {
namespace {

namespace fs = std::filesystem;

constexpr std::array sets{"train", "t10k"};
constexpr std::array endings{"", ".gz"};

std::string images_of(const std::string& set) {
  return set + "-images-idx3-ubyte";
}

std::string labels_of(const std::string& set) {
  return set + "-labels-idx1-ubyte";
}

/// The header's next 4 bytes.
std::array<std::uint8_t, 4> read_word(InputFile& file, const fs::path& path) {
  std::array<std::uint8_t, 4> word{};
  if (file.read(word) < word.size()) fail(path, "truncated: it ends within the header of an IDX file");
  return word;
}

void check_magic(std::span<const std::uint8_t, 4> magic, std::size_t dimensions, const fs::path& path) {
  std::ostringstream text;
  text << std::hex << std::setfill('0');
  for (const std::uint8_t byte : magic) text << std::setw(2) << int{byte} << ' ';
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8)
    fail(path, "not an IDX file of bytes: it starts with " + text.str() + "(expected 00 00 08)");
  if (magic[3] != dimensions)
    fail(path, "has " + std::to_string(magic[3]) + " dimensions, expected " + std::to_string(dimensions));
}

std::vector<std::size_t> read_shape(InputFile& file, std::size_t dimensions, const fs::path& path) {
  std::vector<std::size_t> shape;
  std::size_t room = std::numeric_limits<std::size_t>::max() / 2;
  for (std::size_t d = 0; d < dimensions; ++d) {
    std::size_t size = 0;
    for (const std::uint8_t byte : read_word(file, path)) size = 256 * size + byte;
    if (size == 0) fail(path, "dimension " + std::to_string(d + 1) + " has size 0, expected at least 1");
    room /= size;
    shape.push_back(size);
  }
  if (room == 0) fail(path, "the sizes in its header are too large: their product has no room in 64 bits");
  return shape;
}

/// `folder`/`name`, with one of the endings, if there is one.
std::optional<fs::path> find_file(const fs::path& folder, const std::string& name) {
  for (const char* const ending : endings)
    if (const fs::path path = folder / (name + ending); fs::exists(path)) return path;
  return std::nullopt;
}

Digits read_pair(const fs::path& images_path, const fs::path& labels_path) {
  IdxArray images = read_idx(images_path, 3);
  IdxArray labels = read_idx(labels_path, 1);
  if (labels.shape[0] != images.shape[0])
    fail(labels_path, "has " + std::to_string(labels.shape[0]) + " labels, expected one for each of the " +
                          std::to_string(images.shape[0]) + " images of " + images_path.filename().string());
  const auto wrong = std::find_if(labels.values.begin(), labels.values.end(), [](std::uint8_t l) { return l > 9; });
  if (wrong != labels.values.end())
    fail(labels_path, "label " + std::to_string(wrong - labels.values.begin()) + " (counted from 0) is " +
                          std::to_string(*wrong) + ", expected 0 to 9");
  return {images.shape[1], images.shape[2], std::move(images.values), std::move(labels.values)};
}

}  // namespace

IdxArray read_idx(const fs::path& path, std::size_t dimensions) {
  InputFile file(path);
  check_magic(read_word(file, path), dimensions, path);
  IdxArray array{read_shape(file, dimensions, path), {}};
  const std::size_t header_bytes = 4 + 4 * dimensions;
  std::size_t expected = 1;
  for (const std::size_t size : array.shape) expected *= size;

  // The header may lie, so memory grows with what has been read. What is behind the data, as gzip's checksum, is looked
  // at only when more is asked for than there is.
  std::size_t found = 0;
  do {
    array.values.resize(std::max<std::size_t>(2 * found, 1U << 16));
    found += file.read(std::span(array.values).subspan(found));
  } while (found == array.values.size() && found <= expected);
  const std::string expected_bytes = "expected " + std::to_string(header_bytes + expected) + " bytes, found ";
  if (found < expected) fail(path, "truncated: " + expected_bytes + std::to_string(header_bytes + found));
  if (found > expected) fail(path, "too long: " + expected_bytes + "more");
  if (file.ends_early()) fail(path, "truncated: " + expected_bytes + "them, but not the checksum of the gzip'd data");
  array.values.resize(expected);
  return array;
}

std::vector<fs::path> digits_files(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const char* const set : sets)
    for (const std::string& name : {images_of(set), labels_of(set)})
      for (const char* const ending : endings) paths.push_back(folder / (name + ending));
  return paths;
}

Digits read_digits(const fs::path& folder, DigitsSet first) {
  if (!fs::is_directory(folder)) fail(folder, "no such folder");
  std::array in_order = sets;
  if (first == DigitsSet::t10k) std::ranges::reverse(in_order);
  for (const char* const set : in_order) {
    const auto images = find_file(folder, images_of(set));
    const auto labels = find_file(folder, labels_of(set));
    if (images && labels) return read_pair(*images, *labels);
    if (images) fail(folder, images_of(set) + " is there, but no " + labels_of(set) + " (or .gz)");
    if (labels) fail(folder, labels_of(set) + " is there, but no " + images_of(set) + " (or .gz)");
  }
  fail(folder, "expected t10k-images-idx3-ubyte or train-images-idx3-ubyte (or .gz) in it, found neither");
}

}  // namespace dsop::learn
