// The one number that an algorithm may leave open: segments, a fraction, a group's size.
#pragma once

#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace dsop {

/// A caller may give the number as "name(number)"; else the planner takes the cheapest of `values`. `Subject` is what
/// the algorithm's other functions are given.
template <class... Subject>
struct Parameter {
  std::string name = {};  ///< empty: nothing is open
  std::vector<double> (*values)(const Subject&...) = [](const Subject&...) { return std::vector<double>{0}; };
  /// Empty if the number can be used, else what was expected.
  std::string (*expected)(double, const Subject&...) = [](double, const Subject&...) { return std::string(); };
};

/// Parameter::expected of numbers that count something.
template <class... Subject>
std::string whole_number(double number, const Subject&...) {
  return number >= 1 && std::isfinite(number) && number == std::floor(number) ? "" : "a whole number, 1 or more";
}

/// The number of an algorithm named in `text` as "name(number)", if there is one. Throws ArgumentError naming
/// `argument` where it is no number, or the algorithm's `parameter` has no name: it leaves nothing open.
std::optional<double> number_in_brackets(const std::string& argument, const std::string& text,
                                         const std::string& parameter);

/// The numbers of an algorithm of which no problem says what they may be, "name(first,second)": those in brackets and,
/// where there are no more, the algorithm's own. Throws ArgumentError where one can't be read or used.
std::vector<double> numbers_of(const std::string& text, std::initializer_list<const Parameter<>*> parameters);

}  // namespace dsop
