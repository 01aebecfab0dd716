// A state as text, for checkpoints:
//
//   dsop top-k state 1
//   step 12
//   seed 1
//   local threshold 0.0078125
//   global threshold nan
//   bounds 3 0 4000 9000
//
// Numbers are written so that reading gives the same bits. `bounds`: how many, then each.
#include <algorithm>
#include <charconv>
#include <string>

#include <dsop/topk_allreduce.hpp>

#include "base/refuse.hpp"

namespace dsop {
namespace {

constexpr std::string_view first_line = "dsop top-k state 1";

template <class Number>
void write(std::string& text, Number number) {
  char digits[64];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

/// Line after line, each of which is a name and numbers.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  void next_line(std::string_view name) {
    ++number_;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    numbers_ = line_;
    if (end == rest_.npos || !line_.starts_with(name))
      refuse_line("\"" + std::string(name) + "\", all that, and its end");
    numbers_.remove_prefix(name.size());
    rest_.remove_prefix(end + 1);
  }
  template <class Number>
  Number number(const std::string& what) {
    Number number{};
    if (!numbers_.starts_with(' ')) refuse_line(what);
    const char* const last = numbers_.data() + numbers_.size();
    const auto [end, error] = std::from_chars(numbers_.data() + 1, last, number);
    if (error != std::errc()) refuse_line(what);
    numbers_ = {end, static_cast<std::size_t>(last - end)};
    return number;
  }
  void end_line() const {
    if (!numbers_.empty()) refuse_line("nothing after the number");
  }
  bool at_end() const { return rest_.empty(); }
  [[noreturn]] void refuse_line(const std::string& expected) const {
    refuse("line " + std::to_string(number_) + " of a top-k state", in_quotes(line_), expected);
  }

 private:
  std::string_view rest_;
  std::string_view line_ = {};
  std::string_view numbers_ = {};  // of the line, those not yet read
  int number_ = 0;
};

std::uint64_t read_count(Reader& reader, std::string_view name) {
  reader.next_line(name);
  const auto count = reader.number<std::uint64_t>("a whole number below 2^64");
  reader.end_line();
  return count;
}

double read_threshold(Reader& reader, std::string_view name) {
  reader.next_line(name);
  const auto threshold = reader.number<double>("a number");
  reader.end_line();
  if (threshold < 0) reader.refuse_line("a number of at least 0");
  return threshold;
}

std::vector<std::uint64_t> read_bounds(Reader& reader) {
  std::vector<std::uint64_t> bounds;
  reader.next_line("bounds");
  for (auto left = reader.number<std::uint64_t>("how many bounds follow"); left > 0; --left) {
    bounds.push_back(reader.number<std::uint64_t>("as many bounds as it says"));
    if (bounds.size() > 1 && bounds.back() < bounds[bounds.size() - 2]) reader.refuse_line("bounds that rise");
  }
  reader.end_line();
  return bounds;
}

}  // namespace

std::string TopKState::text() const {
  std::string text(first_line);
  write(text += "\nstep ", selection.step);
  write(text += "\nseed ", selection.seed);
  write(text += "\nlocal threshold ", selection.threshold);
  write(text += "\nglobal threshold ", global_threshold);
  write(text += "\nbounds ", bounds.size());
  for (const std::uint64_t bound : bounds) write(text += ' ', bound);
  return text += '\n';
}

TopKState TopKState::from_text(std::string_view text) {
  TopKState state;
  Reader reader(text);
  reader.next_line(first_line);
  reader.end_line();
  state.selection.step = read_count(reader, "step");
  state.selection.seed = read_count(reader, "seed");
  state.selection.threshold = read_threshold(reader, "local threshold");
  state.global_threshold = read_threshold(reader, "global threshold");
  state.bounds = read_bounds(reader);
  if (!reader.at_end()) throw ArgumentError("a top-k state goes on after its 6 lines, expected its end");
  return state;
}

}  // namespace dsop
