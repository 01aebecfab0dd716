#include "patterns/agreed_errors.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/rank_list.hpp"
#include "patterns/of_all_ranks.hpp"
#include "transport/carried_calls.hpp"

namespace dsop {
namespace {

/// Every rank's text, in pieces of equal length.
std::vector<std::string> gather_texts(Transport& transport, const std::string& own) {
  const std::vector<std::size_t> lengths = patterns::of_all_ranks(transport, own.size());
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<std::string> texts(lengths.size());
  std::array<char, 4096> piece{};
  for (std::size_t begin = 0; begin < longest; begin += piece.size()) {
    if (begin < own.size()) own.copy(piece.data(), piece.size(), begin);
    const auto pieces = patterns::of_all_ranks(transport, piece);
    for (std::size_t r = 0; r < texts.size(); ++r)
      if (begin < lengths[r]) texts[r].append(pieces[r].data(), std::min(piece.size(), lengths[r] - begin));
  }
  return texts;
}

using Lines = std::vector<std::pair<std::string, std::string>>;  // names and values

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    const std::size_t tabulator = text.find('\t', begin);
    lines.emplace_back(text.substr(begin, tabulator - begin), text.substr(tabulator + 1, end - tabulator - 1));
  }
  return lines;
}

// What a rank says of `name`; "" if it does not speak of that.
std::string value_of(const Lines& lines, const std::string& name) {
  const auto line = std::ranges::find(lines, name, &Lines::value_type::first);
  return line != lines.end() ? line->second : "";
}

}  // namespace

void throw_all_errors(Transport& transport, const std::string& own_error) {
  const std::string& parameter = transport.carried().parameter;
  std::string own;
  if (!own_error.empty() && !parameter.empty()) own.append("parameter ").append(parameter).append(": ");
  const std::vector<std::string> texts = gather_texts(transport, own.append(own_error));
  auto groups = ranks_by_value(transport.size(), [&](int r) { return texts[static_cast<std::size_t>(r)]; });
  groups.erase("");
  std::string message;
  for (const auto& [text, ranks] : groups) {
    if (!message.empty()) message += "; ";
    message.append(list_ranks(ranks)).append(": ").append(text);
  }
  throw AgreedError(message);
}

void agree_on_errors(Transport& transport, const std::string& own_error) {
  if (patterns::on_any_rank(transport, !own_error.empty())) throw_all_errors(transport, own_error);
}

void throw_disagreement(Transport& transport, const std::string& own_values) {
  std::vector<Lines> ranks;
  for (const std::string& text : gather_texts(transport, own_values)) ranks.push_back(lines_of(text));
  std::string message;
  std::string last_owner;  // of a machine's numbers the first that differs is enough
  for (const auto& line : ranks[0]) {
    const std::string& name = line.first;
    const std::string owner = name.starts_with("machine.") ? "machine" : name;
    if (owner == last_owner) continue;
    const auto groups =
        ranks_by_value(transport.size(), [&](int r) { return value_of(ranks[static_cast<std::size_t>(r)], name); });
    if (groups.size() == 1) continue;
    last_owner = owner;
    message.append(message.empty() ? "the ranks disagree: " : "; ").append(name).append(" is ");
    const char* separator = "";
    for (const auto& [value, group] : groups) {
      message.append(separator).append(value.empty() ? "none" : value).append(" on ").append(list_ranks(group));
      separator = ", ";
    }
    if (name == "the operation") break;
  }
  if (message.empty())
    message = "the ranks disagree: their digests differ, though all values that they were made of read the same";
  throw AgreedError(message);
}

}  // namespace dsop
