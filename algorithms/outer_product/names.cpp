// How algorithms are named with their parameters.
#include <charconv>
#include <sstream>

#include <dsop/errors.hpp>

#include "outer_product/algorithm.hpp"

namespace dsop {

NamedAlgorithm parse_algorithm(const std::string& text, const std::string& argument,
                               const Registry<OuterProductAlgorithm>& known) {
  const std::size_t bracket = text.find('(');
  const std::string name = text.substr(0, bracket);
  const OuterProductAlgorithm* const algorithm = known.find(name);
  if (algorithm == nullptr)
    throw ArgumentError(argument + " is " + text + ", expected auto or one of " + known.names());
  if (bracket == std::string::npos) return {algorithm, std::nullopt};

  const std::string& parameter = algorithm->parameter.name;
  if (parameter.empty()) throw ArgumentError(argument + " is " + text + ", expected " + name + " without a number");
  double number = 0;
  const char* const last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data() + bracket + 1, last, number);
  if (error != std::errc() || end != last || *last != ')')
    throw ArgumentError(argument + " is " + text + ", expected " + name + "(NUMBER), the number being its " +
                        parameter);
  return {algorithm, number};
}

std::string algorithm_text(const OuterProductAlgorithm& algorithm, double parameter) {
  if (algorithm.parameter.name.empty()) return algorithm.name;
  std::ostringstream text;
  text << algorithm.name << '(' << parameter << ')';
  return text.str();
}

}  // namespace dsop
