#include "learn/training/checkpoint_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

#include <dsop/errors.hpp>

#include "base/output_file.hpp"
#include "learn/data/input_file.hpp"

namespace dsop::learn {
namespace {

constexpr std::string_view magic = "dsop-train checkpoint\n";
// 1: linear models took their samples in another order; 2: without options; 3: without a hash of the data
constexpr std::uint32_t version = 5;
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
  fail(path, "is of another run: \"" + shown(their_line) + "\", expected \"" + shown(our_line) + "\"");
}

std::map<std::string, std::string> options_in(std::string_view text) {
  std::map<std::string, std::string> options;
  std::istringstream lines{std::string(text)};
  for (std::string name, value; std::getline(lines, name, ' ') && std::getline(lines, value);) options[name] = value;
  return options;
}

bool are_same(std::string_view one, std::string_view other) {
  const auto number = [](std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  };
  return one == other || (number(one) && number(one) == number(other));
}

std::string differing_options(std::string_view found, std::string_view expected) {
  const std::map<std::string, std::string> before = options_in(found), now = options_in(expected);
  const auto value = [](const std::map<std::string, std::string>& options, const std::string& name) {
    const auto option = options.find(name);
    return option == options.end() ? "not given" : option->second;
  };
  std::map<std::string, std::string> all = before;
  all.insert(now.begin(), now.end());
  std::string changes;
  for (const auto& [name, _] : all)
    if (const std::string was = value(before, name), is = value(now, name); !are_same(was, is))
      changes.append(changes.empty() ? "" : ", ").append(name + ' ' + is + " instead of " + was);
  return changes;
}

}  // namespace

std::unique_ptr<PathLock> check_save(const std::string& save, const std::string& resume) {
  if (save.empty()) return nullptr;
  { const OutputFile can_be_written(save); }
  auto lock = std::make_unique<PathLock>(save);
  if (lock->holds()) remove_unfinished(save);
  std::error_code not_there;
  if (std::filesystem::exists(save, not_there) &&
      (resume.empty() || !std::filesystem::equivalent(save, resume, not_there)))
    fail(save, "is there already, and --save writes over no file but that of --resume; expected another name, or none");
  return lock;
}

std::string begin_body(const RunIdentity& run) {
  std::string body;
  append_array<char>(body, run.identity);
  append_array<char>(body, run.options);
  return body;
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

CheckpointReader::CheckpointReader(const std::string& path, const RunIdentity& run)
    : path_(path), body_(read_body(path)), rest_(body_) {
  compare_identity(path, bytes(), run.identity);
  other_options_ = differing_options(bytes(), run.options);
}

void CheckpointReader::elements(std::span<float> elements) {
  const std::string_view values = take_array(rest_, sizeof(float));
  if (values.size() != elements.size_bytes())
    fail(path_, "has an array of " + std::to_string(values.size() / sizeof(float)) + " numbers, expected " +
                    std::to_string(elements.size()));
  std::memcpy(elements.data(), values.data(), values.size());
}

void say_other_options(const std::string& resume, const std::string& other_options) {
  if (!other_options.empty()) std::cerr << printable(resume + ": goes on with " + other_options) + '\n';
}

void say_nothing_is_left(const std::string& resume, const std::string& asked_for) {
  std::cerr << resume << " already has all " << asked_for << " that are asked for\n";
}

}  // namespace dsop::learn
