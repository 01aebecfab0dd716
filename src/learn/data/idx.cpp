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

std::string images_of(const std::string& set) {
  return set + "-images-idx3-ubyte";
}

std::string labels_of(const std::string& set) {
  return set + "-labels-idx1-ubyte";
}

/// All names that a file may have: some archives have "images.idx3-ubyte".
std::vector<std::string> names_of(const std::string& name) {
  std::string dotted = name;
  dotted[name.find("-idx")] = '.';
  return {name, name + ".gz", dotted, dotted + ".gz"};
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

/// `folder`/`name`, by one of its names, if it is there.
std::optional<fs::path> find_file(const fs::path& folder, const std::string& name) {
  for (const std::string& variant : names_of(name)) {
    std::error_code error;
    const fs::path path = folder / variant;
    const fs::file_type type = fs::status(path, error).type();
    if (type == fs::file_type::none) fail(path, "can't be looked at: " + error.message());
    if (type != fs::file_type::not_found) return path;
  }
  return std::nullopt;
}

/// A file whose header has been read, and no more.
struct IdxFile {
  IdxFile(const fs::path& path_, std::size_t dimensions) : path(path_), file(path_) {
    check_magic(read_word(file, path), dimensions, path);
    shape = read_shape(file, dimensions, path);
  }

  fs::path path;
  InputFile file;
  std::vector<std::size_t> shape = {};
};

std::vector<std::uint8_t> values_of(IdxFile& idx, std::size_t room) {
  const std::size_t header_bytes = 4 + 4 * idx.shape.size();
  std::size_t expected = 1;
  for (const std::size_t size : idx.shape) expected *= size;

  // The header may lie, so memory grows with what has been read. What is behind the data, as gzip's checksum, is looked
  // at only when more is asked for than there is.
  std::vector<std::uint8_t> values;
  std::size_t found = 0;
  do {
    check_room(idx.path, found, room);
    values.resize(std::max<std::size_t>(2 * found, 1U << 16));
    found += idx.file.read(std::span(values).subspan(found));
  } while (found == values.size() && found <= expected);
  const std::string expected_bytes = "expected " + std::to_string(header_bytes + expected) + " bytes, found ";
  if (found < expected) fail(idx.path, "truncated: " + expected_bytes + std::to_string(header_bytes + found));
  if (found > expected) fail(idx.path, "too long: " + expected_bytes + "more");
  if (idx.file.ends_early())
    fail(idx.path, "truncated: " + expected_bytes + "them, but not the checksum of the gzip'd data");
  values.resize(expected);
  return values;
}

Digits read_pair(const fs::path& images_path, const fs::path& labels_path) {
  IdxFile images(images_path, 3);
  IdxFile labels(labels_path, 1);
  if (labels.shape[0] != images.shape[0])  // before anything is unpacked
    fail(labels_path, "has " + std::to_string(labels.shape[0]) + " labels, expected one for each of the " +
                          std::to_string(images.shape[0]) + " images of " + images_path.filename().string());
  std::vector<std::uint8_t> classes = values_of(labels, room_bytes());
  const auto wrong = std::find_if(classes.begin(), classes.end(), [](std::uint8_t label) { return label > 9; });
  if (wrong != classes.end())
    fail(labels_path, "label " + std::to_string(wrong - classes.begin()) + " (counted from 0) is " +
                          std::to_string(*wrong) + ", expected 0 to 9");
  return {images.shape[1], images.shape[2], values_of(images, room_bytes()), std::move(classes)};
}

}  // namespace

IdxArray read_idx(const fs::path& path, std::size_t dimensions, std::size_t room) {
  IdxFile file(path, dimensions);
  std::vector<std::uint8_t> values = values_of(file, room);
  return {std::move(file.shape), std::move(values)};
}

std::vector<fs::path> digits_files(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const char* const set : sets)
    for (const std::string& name : {images_of(set), labels_of(set)})
      for (const std::string& variant : names_of(name)) paths.push_back(folder / variant);
  return paths;
}

Digits read_digits(const fs::path& folder, DigitsSet first) {
  std::error_code error;
  const fs::file_type type = fs::status(folder, error).type();
  if (type == fs::file_type::none) fail(folder, "can't be looked at: " + error.message());
  if (type != fs::file_type::directory) fail(folder, "no such folder");
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
