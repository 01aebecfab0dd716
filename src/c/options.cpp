#include "c/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>

#include <dsop/errors.hpp>

#include "base/shown.hpp"
#include "c/handles.hpp"
#include "c/machine.hpp"

namespace dsop::c {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

[[noreturn]] void refuse(const char* name, const std::string& value, const std::string& expected) {
  throw ArgumentError(std::string(name) + " is " + shown(value) + ", expected " + expected);
}

template <class Number>
Number number(const char* name, const std::string& text, const char* expected) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end) refuse(name, text, expected);
  return value;
}

template <class Value, std::size_t N>
Value choice(const char* name, const std::string& text,
             const std::array<std::pair<std::string_view, Value>, N>& choices) {
  std::string expected;
  for (const auto& [word, value] : choices) {
    if (word == text) return value;
    expected += (expected.empty() ? "" : " or ") + std::string(word);
  }
  refuse(name, text, expected);
}

constexpr std::string_view by_handle = "handle:";

}  // namespace

OptionText::OptionText(const char* text) {
  for (std::string_view rest = text == nullptr ? "" : text; !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (trimmed(pair).empty()) continue;
    const std::size_t sign = pair.find('=');
    if (sign == std::string_view::npos) refuse("an option", std::string(trimmed(pair)), "NAME=VALUE");
    pairs_.push_back({std::string(trimmed(pair.substr(0, sign))), std::string(trimmed(pair.substr(sign + 1)))});
  }
  for (const Pair& pair : pairs_)
    if (std::count_if(pairs_.begin(), pairs_.end(), [&](const Pair& other) { return other.name == pair.name; }) > 1)
      refuse("an option", pair.name, "each once");
}

const std::string* OptionText::find(const char* name) {
  known_ += (known_.empty() ? "" : ", ") + std::string(name);
  const auto found = std::find_if(pairs_.begin(), pairs_.end(), [&](const Pair& pair) { return pair.name == name; });
  if (found == pairs_.end()) return nullptr;
  found->read = true;
  return &found->value;
}

void OptionText::done() const {
  for (const Pair& pair : pairs_)
    if (pair.name == "accumulate") refuse("an option", pair.name, "beta=1 in its place");
  for (const Pair& pair : pairs_)
    if (!pair.read) refuse("an option", pair.name, "one of " + known_);
}

OptionText& OptionText::read(const char* name, std::string& value) {
  if (const std::string* const text = find(name)) value = *text;
  return *this;
}

OptionText& OptionText::read(const char* name, double& value) {
  if (const std::string* const text = find(name)) value = number<double>(name, *text, "a number");
  return *this;
}

OptionText& OptionText::read(const char* name, std::vector<int>& values) {
  const std::string* const text = find(name);
  if (text == nullptr) return *this;
  values.clear();
  for (std::size_t begin = 0; begin <= text->size(); begin = std::min(text->find(',', begin), text->size()) + 1)
    values.push_back(
        number<int>(name, text->substr(begin, text->find(',', begin) - begin), "whole numbers with commas"));
  return *this;
}

OptionText& OptionText::read(const char* name, bool& value) {
  constexpr std::array<std::pair<std::string_view, bool>, 4> choices{
      {{"true", true}, {"false", false}, {"1", true}, {"0", false}}};
  if (const std::string* const text = find(name)) value = choice(name, *text, choices);
  return *this;
}

OptionText& OptionText::read(const char* name, std::size_t& value) {
  if (const std::string* const text = find(name)) value = number<std::size_t>(name, *text, "a whole number");
  return *this;
}

OptionText& OptionText::read(const char* name, int& value) {
  if (const std::string* const text = find(name)) value = number<int>(name, *text, "a whole number");
  return *this;
}

OptionText& OptionText::read(const char* name, Wire& value) {
  constexpr std::array<std::pair<std::string_view, Wire>, 2> choices{{{"full", Wire::full}, {"bf16", Wire::bf16}}};
  if (const std::string* const text = find(name)) value = choice(name, *text, choices);
  return *this;
}

OptionText& OptionText::read(const char* name, Overlap& value) {
  constexpr std::array<std::pair<std::string_view, Overlap>, 3> choices{
      {{"uniform", Overlap::uniform}, {"full", Overlap::full}, {"none", Overlap::none}}};
  if (const std::string* const text = find(name)) value = choice(name, *text, choices);
  return *this;
}

OptionText& OptionText::read(const char* name, std::optional<Machine>& value) {
  const std::string* const text = find(name);
  if (text == nullptr) return *this;
  if (text->starts_with(by_handle))
    value = *dsop::c::find<Machine>(number<Handle>(name, text->substr(by_handle.size()), "handle:NUMBER"));
  else
    value = read_machine(*text);
  return *this;
}

CollectiveOptions collective_options(const char* text) {
  CollectiveOptions options;
  OptionText(text)
      .read("algorithm", options.algorithm)
      .read("machine", options.machine)
      .read("allow_native", options.allow_native)
      .done();
  return options;
}

// What every outer product takes.
static OptionText& read_sum_options(OptionText& text, Options& options) {
  return text.read("algorithm", options.algorithm)
      .read("scale", options.scale)
      .read("alpha", options.alpha)
      .read("beta", options.beta)
      .read("machine", options.machine)
      .read("allow_native", options.allow_native)
      .read("find_zeros", options.find_zeros)
      .read("wire", options.wire)
      .read("factor_wire", options.factor_wire)
      .read("check_bits", options.check_bits);
}

Options outer_product_options(const char* text) {
  Options options;
  OptionText given(text);
  read_sum_options(given, options).done();
  return options;
}

LayerOptions layer_options(const Shape& shape, const char* text) {
  LayerOptions of{shape, {}};
  OptionText given(text);
  read_sum_options(given, of.options)
      .read("tries", of.options.tries)
      .read("density_a", of.shape.density_a)
      .read("density_b", of.shape.density_b)
      .read("expected_pairs", of.shape.expected_pairs)
      .done();
  return of;
}

Shape with_shape_options(const Shape& shape, const char* text) {
  Shape with = shape;
  OptionText(text)
      .read("density_a", with.density_a)
      .read("density_b", with.density_b)
      .read("expected_pairs", with.expected_pairs)
      .done();
  return with;
}

SparseAllreduceOptions sparse_options(const char* text) {
  SparseAllreduceOptions options;
  OptionText(text)
      .read("algorithm", options.algorithm)
      .read("machine", options.machine)
      .read("wire", options.wire)
      .done();
  return options;
}

TopKOptions topk_options(const char* text) {
  TopKOptions options;
  OptionText(text)
      .read("algorithm", options.algorithm)
      .read("machine", options.machine)
      .read("wire", options.wire)
      .done();
  return options;
}

SynchronizerOptions synchronizer_options(const char* text) {
  SynchronizerOptions options;
  OptionText(text)
      .read("bucket_bytes", options.bucket_bytes)
      .read("residual_holds_step", options.residual_holds_step)
      .read("overlap", options.overlap)
      .read("machine", options.machine)
      .read("wire", options.wire)
      .read("tries", options.tries)
      .done();
  return options;
}

}  // namespace dsop::c
