#include "base/parameter.hpp"

#include <charconv>

#include <dsop/errors.hpp>

namespace dsop {

std::optional<double> number_in_brackets(const std::string& argument, const std::string& text,
                                         const std::string& parameter) {
  const std::size_t bracket = text.find('(');
  if (bracket == std::string::npos) return std::nullopt;
  const std::string name = text.substr(0, bracket);
  if (parameter.empty()) throw ArgumentError(argument + " is " + text + ", expected " + name + " without a number");
  double number = 0;
  const char* const last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data() + bracket + 1, last, number);
  if (error != std::errc() || end != last || *last != ')')
    throw ArgumentError(argument + " is " + text + ", expected " + name + "(NUMBER), the number being its " +
                        parameter);
  return number;
}

}  // namespace dsop
