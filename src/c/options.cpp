#include "c/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>
#include <utility>

#include "base/refuse.hpp"

namespace dsop::c {
namespace {

struct Pair {
  std::string_view name;
  std::string_view value;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::vector<Pair> pairs_in(std::string_view text) {
  std::vector<Pair> pairs;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (trimmed(pair).empty()) continue;
    const std::size_t sign = pair.find('=');
    if (sign == std::string_view::npos) refuse("an option", trimmed(pair), "NAME=VALUE");
    pairs.push_back({trimmed(pair.substr(0, sign)), trimmed(pair.substr(sign + 1))});
  }
  for (const Pair& pair : pairs)
    if (std::ranges::count(pairs, pair.name, &Pair::name) > 1) refuse("an option", pair.name, "each once");
  return pairs;
}

template <class Number>
Number number(const std::string& name, std::string_view text, const char* expected) {
  Number value{};
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stopped != text.data() + text.size()) refuse(name, text, expected);
  return value;
}

template <class Value, std::size_t N>
void read_choice(const std::string& name, std::string_view text, Value& value,
                 const std::array<std::pair<std::string_view, Value>, N>& choices) {
  std::string expected;
  for (const auto& [word, chosen] : choices) {
    if (word == text) {
      value = chosen;
      return;
    }
    expected.append(expected.empty() ? "" : " or ").append(word);
  }
  refuse(name, text, expected);
}

template <class Number>
void read(const std::string& name, std::string_view text, Number& value) {
  value = number<Number>(name, text, std::is_integral_v<Number> ? "a whole number" : "a number");
}

void read(const std::string&, std::string_view text, std::string& value) {
  value = text;
}

void read(const std::string& name, std::string_view text, bool& value) {
  read_choice<bool, 4>(name, text, value, {{{"true", true}, {"false", false}, {"1", true}, {"0", false}}});
}

void read(const std::string& name, std::string_view text, Wire& value) {
  read_choice<Wire, 2>(name, text, value, {{{"full", Wire::full}, {"bf16", Wire::bf16}}});
}

void read(const std::string& name, std::string_view text, Overlap& value) {
  read_choice<Overlap, 3>(name, text, value,
                          {{{"uniform", Overlap::uniform}, {"full", Overlap::full}, {"none", Overlap::none}}});
}

void read(const std::string& name, std::string_view text, std::vector<int>& values) {
  values.clear();
  for (std::size_t begin = 0; begin <= text.size(); begin = std::min(text.find(',', begin), text.size()) + 1)
    values.push_back(number<int>(name, text.substr(begin, text.find(',', begin) - begin), "whole numbers with commas"));
}

void read(const std::string& name, std::string_view text, std::optional<Machine>& value) {
  constexpr std::string_view by_handle = "handle:";
  if (text.starts_with(by_handle))
    value = *find<Machine>(number<Handle>(name, text.substr(by_handle.size()), "handle:NUMBER"));
  else
    value = read_machine(std::string(text));
}

// What every outer product takes.
std::vector<Option> sum_options(Options& options) {
  return {{"algorithm", &options.algorithm},
          {"scale", &options.scale},
          {"alpha", &options.alpha},
          {"beta", &options.beta},
          {"machine", &options.machine},
          {"allow_native", &options.allow_native},
          {"find_zeros", &options.find_zeros},
          {"wire", &options.wire},
          {"factor_wire", &options.factor_wire},
          {"check_bits", &options.check_bits}};
}

std::vector<Option> shape_options(Shape& shape) {
  return {{"density_a", &shape.density_a}, {"density_b", &shape.density_b}, {"expected_pairs", &shape.expected_pairs}};
}

}  // namespace

void read_options(const char* text, const std::vector<Option>& table) {
  const std::vector<Pair> pairs = pairs_in(text == nullptr ? "" : text);
  for (const Option& option : table)
    if (const auto pair = std::ranges::find(pairs, option.name, &Pair::name); pair != pairs.end())
      std::visit([&](auto* value) { read(std::string(option.name), pair->value, *value); }, option.value);
  std::string known;
  for (const Option& option : table) known.append(known.empty() ? "" : ", ").append(option.name);
  for (const Pair& pair : pairs)
    if (pair.name == "accumulate") refuse("an option", pair.name, "beta=1 in its place");
  for (const Pair& pair : pairs)
    if (std::ranges::find(table, pair.name, &Option::name) == table.end())
      refuse("an option", pair.name, "one of " + known);
}

CollectiveOptions collective_options(const char* text) {
  CollectiveOptions options;
  read_options(
      text,
      {{"algorithm", &options.algorithm}, {"machine", &options.machine}, {"allow_native", &options.allow_native}});
  return options;
}

Options outer_product_options(const char* text) {
  Options options;
  read_options(text, sum_options(options));
  return options;
}

LayerOptions layer_options(const Shape& shape, const char* text) {
  LayerOptions of{shape, {}};
  std::vector<Option> table = sum_options(of.options);
  std::ranges::copy(shape_options(of.shape), std::back_inserter(table));
  read_options(text, table);
  return of;
}

ParameterOptions parameter_options(const Shape& shape, const char* text) {
  ParameterOptions of{shape};
  std::string errors(1, of.bias_of.errors);
  std::vector<Option> table = shape_options(of.shape);
  table.push_back({"bias_of", &of.bias_of.weight});
  table.push_back({"errors", &errors});
  read_options(text, table);
  if (errors.size() != 1) refuse("errors", errors, "a or b");
  of.bias_of.errors = errors[0];
  return of;
}

SynchronizerOptions synchronizer_options(const char* text) {
  SynchronizerOptions options;
  read_options(text, {{"bucket_bytes", &options.bucket_bytes},
                      {"residual_holds_step", &options.residual_holds_step},
                      {"overlap", &options.overlap},
                      {"machine", &options.machine},
                      {"wire", &options.wire}});
  return options;
}

}  // namespace dsop::c
