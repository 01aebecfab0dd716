#include "learn/training/checkpoint_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <system_error>

#include <dsop/errors.hpp>

#include "learn/data/input_file.hpp"
#include "model/output_file.hpp"

namespace dsop::learn {
namespace {

constexpr std::string_view magic = "dsop-train checkpoint\n";
constexpr std::uint32_t version = 2;  // 1: linear models took their samples in another order
constexpr std::size_t header_bytes = magic.size() + sizeof version + 2 * sizeof(std::uint64_t);

/// What follows the header, which is whole.
std::string read_body(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail(path, std::string("can't be opened: ") + std::strerror(errno));
  const auto found_bytes = static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0));
  file.seekg(0);
  std::string header(std::min(header_bytes, found_bytes), '\0');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  if (!file || header.empty() || !header.starts_with(magic.substr(0, header.size())))
    fail(path, "is no checkpoint of dsop-train");
  if (header.size() < header_bytes)
    fail(path, "is cut off: it ends after " + std::to_string(found_bytes) + " bytes, within its header");
  std::string_view rest = std::string_view(header).substr(magic.size());
  if (const auto found = take<std::uint32_t>(rest); found != version)
    fail(path, "is a checkpoint of version " + std::to_string(found) + ", expected " + std::to_string(version));
  const auto expected = take<std::uint64_t>(rest);
  const auto sum = take<std::uint64_t>(rest);
  if (found_bytes - header_bytes < expected)
    fail(path, "is cut off: expected " + std::to_string(header_bytes + expected) + " bytes, found " +
                   std::to_string(found_bytes));
  std::string body(found_bytes - header_bytes, '\0');
  file.read(body.data(), static_cast<std::streamsize>(body.size()));
  if (!file) fail(path, "can't be read to its end");
  if (body.size() > expected || checksum(body) != sum) fail(path, "is damaged: its checksum is another");
  return body;
}

/// Throws naming the first line that differs.
void compare_identity(const std::string& path, std::string_view found, const std::string& expected) {
  if (found == expected) return;
  std::istringstream theirs{std::string(found)}, ours{expected};
  std::string their_line, our_line;
  do {
    their_line.clear();
    our_line.clear();
    std::getline(theirs, their_line);
    std::getline(ours, our_line);
  } while (their_line == our_line && (theirs || ours));
  fail(path, "is of another run: \"" + their_line + "\", expected \"" + our_line + "\"");
}

}  // namespace

void check_save(const std::string& save, const std::string& resume) {
  if (save.empty()) return;
  std::error_code not_there;
  if (std::filesystem::exists(save) && (resume.empty() || !std::filesystem::equivalent(save, resume, not_there)))
    fail(save, "is there already, and --save writes over no file but that of --resume; expected another name, or none");
  const OutputFile can_be_written(save);
}

void write_checkpoint_file(const std::string& path, const std::string& body) {
  std::string header(magic);
  append(header, version);
  append(header, std::uint64_t{body.size()});
  append(header, checksum(body));

  OutputFile file(path);
  file.stream() << header << body;
  file.finish();
}

CheckpointReader::CheckpointReader(const std::string& path, const std::string& identity)
    : path_(path), body_(read_body(path)), rest_(body_) {
  compare_identity(path, bytes(), identity);
}

void CheckpointReader::elements(std::span<float> elements) {
  const std::string_view values = take_array(rest_, sizeof(float));
  if (values.size() != elements.size_bytes())
    fail(path_, "has an array of " + std::to_string(values.size() / sizeof(float)) + " numbers, expected " +
                    std::to_string(elements.size()));
  std::memcpy(elements.data(), values.data(), values.size());
}

void say_nothing_is_left(const std::string& resume, const std::string& asked_for) {
  std::cerr << resume << " already has all " << asked_for << " that are asked for\n";
}

}  // namespace dsop::learn
