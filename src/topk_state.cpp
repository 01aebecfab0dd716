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

/// The next line of what is left of a text, which begins with `name`: its numbers.
class Line {
 public:
  Line(std::string_view& left, int number, std::string_view name)
      : line_(left.substr(0, left.find('\n'))), number_(number), numbers_(line_) {
    expect(line_.size() < left.size() && line_.starts_with(name),
           std::string("\"").append(name).append("\", all that, and its end"));
    numbers_.remove_prefix(name.size());
    left.remove_prefix(line_.size() + 1);
  }

  template <class Number>
  void read(Number& number, const std::string& what) {
    expect(numbers_.starts_with(' '), what);
    const char* const last = numbers_.data() + numbers_.size();
    const auto [end, error] = std::from_chars(numbers_.data() + 1, last, number);
    expect(error == std::errc(), what);
    numbers_ = {end, static_cast<std::size_t>(last - end)};
  }
  /// That is all there is.
  void read_last(std::uint64_t& count) {
    read(count, "a whole number below 2^64");
    end();
  }
  void read_last(double& threshold) {
    read(threshold, "a number");
    end();
    expect(!(threshold < 0), "a number of at least 0");
  }
  void end() const { expect(numbers_.empty(), "nothing after the number"); }
  void expect(bool good, const std::string& expected) const {
    if (!good) refuse("line " + std::to_string(number_) + " of a top-k state", in_quotes(line_), expected);
  }

 private:
  std::string_view line_;
  int number_;
  std::string_view numbers_;  // those not yet read
};

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
  Line(text, 1, first_line).end();
  Line(text, 2, "step").read_last(state.selection.step);
  Line(text, 3, "seed").read_last(state.selection.seed);
  Line(text, 4, "local threshold").read_last(state.selection.threshold);
  Line(text, 5, "global threshold").read_last(state.global_threshold);
  Line bounds(text, 6, "bounds");
  std::uint64_t left = 0;
  for (bounds.read(left, "how many bounds follow"); left > 0; --left) {
    const std::uint64_t before = state.bounds.empty() ? 0 : state.bounds.back();
    bounds.read(state.bounds.emplace_back(), "as many bounds as it says");
    bounds.expect(state.bounds.back() >= before, "bounds that rise");
  }
  bounds.end();
  if (!text.empty()) throw ArgumentError("a top-k state goes on after its 6 lines, expected its end");
  return state;
}

}  // namespace dsop
