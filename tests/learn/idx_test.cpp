// Reading IDX files: good ones, plain and gzip'd, and every kind of bad one, all written by the test.
#include "learn/data/idx.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using dsop::learn::expect_error;
using dsop::learn::read_digits;
using dsop::learn::read_idx;
using dsop::learn::TemporaryFolder;

const std::string images_name = "t10k-images-idx3-ubyte";
const std::string labels_name = "t10k-labels-idx1-ubyte";

std::string header(char type, const std::vector<std::uint32_t>& shape) {
  std::string bytes{0, 0, type, static_cast<char>(shape.size())};
  for (const std::uint32_t size : shape)
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(size >> shift & 255U);
  return bytes;
}

std::string values(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 7 % 251);
  return bytes;
}

std::string images_file(std::uint32_t count) {
  return header(8, {count, 2, 3}) + values(6 * std::size_t{count});
}
std::string labels_file(const std::string& labels) {
  return header(8, {static_cast<std::uint32_t>(labels.size())}) + labels;
}

std::string file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string cut(const fs::path& path, std::uintmax_t missing_bytes) {
  fs::resize_file(path, fs::file_size(path) - missing_bytes);
  return path.string();
}

void expect_images_error(const fs::path& file, const std::vector<std::string>& words) {
  expect_error([&] { read_idx(file, 3); }, file, words);
}

}  // namespace

TEST_CASE("IDX: a good file, plain and gzip'd, gives its shape and bytes") {
  const TemporaryFolder folder;
  const std::uint32_t count = GENERATE(1U, 4U, 700000U);  // the last does not fit in what is read first
  const std::string bytes = images_file(count);
  for (const auto& path : {folder.write("plain", bytes), folder.write_gzipped("packed.gz", bytes)}) {
    const dsop::learn::IdxArray array = read_idx(path, 3);
    CHECK(array.shape == std::vector<std::size_t>{count, 2, 3});
    CHECK(std::string(array.values.begin(), array.values.end()) == values(6 * std::size_t{count}));
  }
}

TEST_CASE("IDX: digits of a folder, any mixture of plain and gzip'd, train before t10k") {
  const TemporaryFolder folder;
  folder.write(images_name, images_file(2));
  folder.write_gzipped(labels_name + ".gz", labels_file("\3\7"));
  const dsop::learn::Digits digits = read_digits(folder.path());
  CHECK(digits.count() == 2);
  CHECK(digits.rows == 2);
  CHECK(digits.columns == 3);
  CHECK(digits.pixels.size() == 12);
  CHECK(digits.labels == std::vector<std::uint8_t>{3, 7});

  folder.write("train-images-idx3-ubyte", images_file(1));
  folder.write("train-labels-idx1-ubyte", labels_file("\5"));
  CHECK(read_digits(folder.path()).labels == std::vector<std::uint8_t>{5});
  CHECK(read_digits(folder.path(), dsop::learn::DigitsSet::t10k).labels == digits.labels);
}

TEST_CASE("IDX: names with a dot, as some archives have them, and which of several is taken") {
  const TemporaryFolder folder;
  folder.write("t10k-images.idx3-ubyte", images_file(2));
  folder.write_gzipped("t10k-labels.idx1-ubyte.gz", labels_file("\3\7"));
  CHECK(read_digits(folder.path()).labels == std::vector<std::uint8_t>{3, 7});
  folder.write(labels_name, labels_file("\1\2"));
  CHECK(read_digits(folder.path()).labels == std::vector<std::uint8_t>{1, 2});
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    const std::vector<fs::path> known = dsop::learn::digits_files(folder.path());
    CHECK(std::count(known.begin(), known.end(), entry.path()) == 1);
  }
}

TEST_CASE("IDX: a file that can't be read") {
  const TemporaryFolder folder;
  expect_images_error(folder.path() / "absent", {"can't be opened", "No such file"});
  expect_images_error(folder.path(), {"can't be read", "Is a directory"});
}

TEST_CASE("IDX: a file of another kind") {
  const TemporaryFolder folder;
  expect_images_error(folder.write("text", "Call me Ishmael."), {"not an IDX file", "43 61 6c 6c", "00 00 08"});
  expect_images_error(folder.write("floats", header(0x0d, {1, 1, 1}) + "1234"), {"not an IDX file", "00 00 0d 03"});
  expect_images_error(folder.write("labels", labels_file("\1")), {"has 1 dimensions, expected 3"});
}

TEST_CASE("IDX: a file that is too short") {
  const TemporaryFolder folder;
  const std::string good = images_file(4);
  expect_images_error(folder.write("empty", ""), {"truncated", "header"});
  expect_images_error(folder.write("magic", good.substr(0, 3)), {"truncated", "header"});
  expect_images_error(folder.write("sizes", good.substr(0, 15)), {"truncated", "header"});
  expect_images_error(folder.write("no-values", good.substr(0, 16)), {"truncated", "expected 40", "found 16"});
  expect_images_error(folder.write("one-less", good.substr(0, 39)), {"truncated", "expected 40", "found 39"});
}

TEST_CASE("IDX: a file that is too long") {
  const TemporaryFolder folder;
  expect_images_error(folder.write("plain", images_file(4) + "!"), {"too long", "expected", "40"});
  expect_images_error(folder.write_gzipped("packed.gz", images_file(4) + "!"), {"too long", "expected", "40"});
}

TEST_CASE("IDX: gzip'd data that is cut or damaged") {
  const TemporaryFolder folder;
  const fs::path packed = folder.write_gzipped("packed.gz", images_file(10000));
  SECTION("the checksum is missing") {
    cut(packed, 8);
    expect_images_error(packed, {"truncated"});
  }
  SECTION("half is missing") {
    cut(packed, fs::file_size(packed) / 2);
    expect_images_error(packed, {"truncated", "expected 60016", "found"});
  }
  SECTION("the checksum is wrong") {
    std::fstream file(packed, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-8, std::ios::end);
    file << "oops";
    file.close();
    expect_images_error(packed, {"damaged"});
  }
}

TEST_CASE("IDX: what follows gzip'd data: another member or zeros, as gzip(1) has it, or nothing") {
  const TemporaryFolder folder;
  const std::string bytes = images_file(30000);
  const std::size_t half = bytes.size() / 2;
  const auto packed = [&](const std::string& part) { return file_bytes(folder.write_gzipped("part.gz", part)); };
  const std::string whole = packed(bytes);
  const std::string zeros(GENERATE(1U, 2U, 511U, 100000U), '\0');
  for (const std::string& good : {packed(bytes.substr(0, half)) + packed("") + packed(bytes.substr(half)),
                                  whole + zeros, whole + packed("") + zeros})
    CHECK(read_idx(folder.write("good.gz", good), 3).values.size() == 180000);
  for (const std::string rest : {"!", "!!", "\x1f", "<html>not found</html>"})
    for (const std::string& before : {std::string(), zeros})
      expect_images_error(folder.write("bad.gz", whole + before + rest),
                          {"damaged", "follow the end of its gzip'd data"});
  expect_images_error(folder.write("bad.gz", whole + zeros + packed("")), {"damaged", "follow the end"});
  expect_images_error(folder.write("cut.gz", whole + packed("").substr(0, 9)), {"truncated"});
}

TEST_CASE("IDX: sizes that make no sense take no memory") {
  const TemporaryFolder folder;
  const std::uint32_t most = 0xffffffff;
  expect_images_error(folder.write("huge", header(8, {most, 28, 28}) + "123"),
                      {"truncated", "expected 3367254359296 bytes", "found 19"});
  expect_images_error(folder.write("overflow", header(8, {most, most, most})), {"too large"});
  expect_images_error(folder.write("wraps", header(8, {1U << 31, 1U << 31, 4}) + "123"), {"too large"});
  expect_images_error(folder.write("empty", header(8, {0, 28, 28})), {"dimension 1 has size 0"});
  expect_images_error(folder.write("flat", header(8, {1, 28, 0})), {"dimension 3 has size 0"});
}

TEST_CASE("data: no more is unpacked than there is room for, and nothing where headers do not fit together") {
  const TemporaryFolder folder;
  const fs::path bomb = folder.write_gzipped("bomb.gz", header(8, {1U << 30, 1, 1}) + std::string(1 << 20, '\0'));
  expect_error([&] { read_idx(bomb, 3, 100'000); }, bomb, {"out of memory", "there is room for 100000"});
  expect_images_error(bomb, {"truncated", "found 1048592"});
  dsop::learn::InputFile text(bomb);
  expect_error([&] { text.read_rest(100'000); }, bomb, {"out of memory", "more than 131072 bytes"});
  CHECK(dsop::learn::room_bytes() > 0);
  dsop::learn::readers_on_host = std::size_t{1} << 40;
  expect_error([&] { read_idx(bomb, 3); }, bomb, {"out of memory"});
  dsop::learn::readers_on_host = 1;

  folder.write_gzipped(images_name + ".gz", header(8, {1U << 30, 1, 1}) + std::string(1 << 20, '\0'));
  const fs::path labels = folder.write(labels_name, labels_file("\1\2"));
  expect_error([&] { read_digits(folder.path()); }, labels, {"has 2 labels", "1073741824 images"});
}

TEST_CASE("IDX: images and labels that do not belong together") {
  const TemporaryFolder folder;
  folder.write(images_name, images_file(3));
  const auto read = [&] { read_digits(folder.path()); };
  expect_error(read, folder.path(), {"no " + labels_name});
  fs::path labels = folder.write(labels_name, labels_file("\1\2"));
  expect_error(read, labels, {"2 labels", "3 images", images_name});
  labels = folder.write(labels_name, labels_file("\1\2\12"));
  expect_error(read, labels, {"label 2", "is 10", "expected 0 to 9"});
  fs::remove(folder.path() / images_name);
  expect_error(read, folder.path(), {"no " + images_name});
}

TEST_CASE("IDX: a folder without the files") {
  const TemporaryFolder folder;
  expect_error([&] { read_digits(folder.path()); }, folder.path(), {images_name, "found neither"});
  const fs::path absent = folder.path() / "absent";
  expect_error([&] { read_digits(absent); }, absent, {"no such folder"});
  const fs::path file = folder.write(images_name, images_file(1));
  expect_error([&] { read_digits(file); }, file, {"no such folder"});
}
