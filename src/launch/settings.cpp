#include "launch/settings.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string_view>

#include <dsop/errors.hpp>

#include "base/fnv.hpp"
#include "base/hexadecimal.hpp"
#include "launch/launch.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::launch {
namespace {

template <std::size_t n>
bool holds(const std::array<std::string_view, n>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a machine's file says; what is no file may be the name of a machine.
std::string value_of_machine(const std::string& given) {
  std::ostringstream bytes;
  if (!(bytes << std::ifstream(given, std::ios::binary).rdbuf())) return given;
  return "given, hash " + hexadecimal(checksum(bytes.str()));
}

std::string value_of(const CLI::Option& option) {
  constexpr std::array<std::string_view, 5> files{"TRAIN", "DATA", "--test", "--save", "--resume"};
  const bool is_flag = option.get_items_expected_max() == 0;
  if (is_flag || holds(files, option.get_name())) return option.count() > 0 ? "given" : "not given";
  if (option.count() == 0) return option.get_default_str().empty() ? "not given" : option.get_default_str();
  if (option.get_name() == "--machine") return value_of_machine(option.results().front());
  std::string values;
  for (const std::string& value : option.results()) values.append(values.empty() ? "" : ",").append(value);
  return option.get_items_expected_max() > 1 ? '[' + values + ']' : values;  // a default list has brackets
}

/// A line for each setting that is not among `others`.
template <std::size_t n>
std::string lines_of(const Settings& settings, const char* between, const std::array<std::string_view, n>& others) {
  std::string text;
  for (const auto& [name, value] : settings)
    if (!holds(others, name)) text.append(name).append(between).append(value).append("\n");
  return text;
}

/// The first line that differs from rank 0's, and that; both are cut off alike where they are long.
std::string difference(const std::string& own, const std::string& of_first) {
  std::istringstream ours(own), theirs(of_first);
  std::string our_line, their_line;
  while (std::getline(ours, our_line) && std::getline(theirs, their_line))
    if (our_line != their_line) return our_line + ", expected as on rank 0, where " + their_line;
  return "other options than on rank 0";
}

}  // namespace

Settings settings_of(const CLI::App& command) {
  Settings settings{{"the command", command.get_name()}};
  for (const CLI::Option* const option : command.get_options())
    if (option->get_name() != "--help") settings.emplace_back(option->get_name(), value_of(*option));
  return settings;
}

void expect_same_settings(Transport& transport, const Settings& own) {
  constexpr std::array<std::string_view, 5> of_each_rank{"--ranks", "--rank", "--store", "--out", "--threads"};
  expect_same_lines(transport, lines_of(own, " is ", of_each_rank));
}

void expect_same_lines(Transport& transport, const std::string& own) {
  const std::vector<std::uint64_t> hashes = patterns::of_all_ranks(transport, checksum(own));
  if (std::all_of(hashes.begin(), hashes.end(), [&](std::uint64_t hash) { return hash == hashes[0]; })) return;

  using Text = std::array<char, 4096>;
  Text sent{};
  own.copy(sent.data(), sent.size() - 1);
  const std::vector<Text> texts = patterns::of_all_ranks(transport, sent);
  const std::size_t rank = static_cast<std::size_t>(transport.rank());
  on_all_ranks(transport, [&] {
    if (hashes[rank] != hashes[0]) throw ArgumentError(difference(texts[rank].data(), texts[0].data()));
  });
}

std::string options_for_checkpoint(const Settings& settings) {
  constexpr std::array<std::string_view, 11> others{"the command", "--ranks",  "--transport", "--store",
                                                    "--rank",      "--epochs", "--steps",     "--save",
                                                    "--resume",    "--out",    "--save-every"};
  return lines_of(settings, " ", others);
}

}  // namespace dsop::launch
