// How algorithms are named with their parameters.
#include <sstream>

#include <dsop/errors.hpp>

#include "outer_product/algorithm.hpp"

namespace dsop {

NamedAlgorithm parse_algorithm(const std::string& text, const std::string& argument,
                               const Registry<OuterProductAlgorithm>& known) {
  const OuterProductAlgorithm* const algorithm = known.find(text.substr(0, text.find('(')));
  if (algorithm == nullptr)
    throw ArgumentError(argument + " is " + text + ", expected auto or one of " + known.names());
  return {algorithm, number_in_brackets(argument, text, algorithm->parameter.name)};
}

std::string algorithm_text(const OuterProductAlgorithm& algorithm, double parameter) {
  if (algorithm.parameter.name.empty()) return algorithm.name;
  std::ostringstream text;
  text << algorithm.name << '(' << parameter << ')';
  return text.str();
}

}  // namespace dsop
