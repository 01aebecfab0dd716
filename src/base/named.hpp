// How algorithms are named with their parameters.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "base/parameter.hpp"
#include "base/refuse.hpp"
#include "base/registry.hpp"

namespace dsop {

/// An algorithm as a caller names it: "ring" or, with its parameter, "ring-pipelined(8)".
template <class Algorithm>
struct Named {
  const Algorithm* algorithm = nullptr;
  std::optional<double> parameter = std::nullopt;
};

/// The one that `text` names, whatever its numbers. Throws ArgumentError, listing the known names, if none is;
/// `argument` is what the error calls the text, `or_else` what else it might have been.
template <class Algorithm>
const Algorithm& find_algorithm(const std::string& text, std::string_view argument, const Registry<Algorithm>& known,
                                const char* or_else = "") {
  const Algorithm* const algorithm = known.find(std::string_view(text).substr(0, text.find('(')));
  if (algorithm == nullptr) refuse(std::string(argument), text, or_else + ("one of " + known.names()));
  return *algorithm;
}

/// The same with its number, and throws if that can't be read.
template <class Algorithm>
Named<Algorithm> parse_algorithm(const std::string& text, const std::string& argument,
                                 const Registry<Algorithm>& known) {
  const Algorithm& algorithm = find_algorithm(text, argument, known, "auto or ");
  return {&algorithm, number_in_brackets(argument, text, algorithm.parameter.name)};
}

/// Reads back as the same number.
inline std::string number_text(double number) {
  char digits[32];  // a stream takes ten times as long; a planner names hundreds
  // Alone 1000000 would be 1e+06.
  const bool counts = number == std::floor(number) && std::abs(number) < 1e15;
  const auto end = counts ? std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed)
                          : std::to_chars(digits, digits + sizeof digits, number);
  return {digits, end.ptr};
}

/// "ring-pipelined(8)"; just the name where the algorithm leaves nothing open.
template <class Algorithm>
std::string algorithm_text(const Algorithm& algorithm, double parameter) {
  if (algorithm.parameter.name.empty()) return algorithm.name;
  return algorithm.name + '(' + number_text(parameter) + ')';
}

}  // namespace dsop
