#include "base/parameter.hpp"

#include <charconv>

#include "base/refuse.hpp"

namespace dsop {
namespace {

/// "name(NUMBER,NUMBER), the numbers being its segments and its group"
std::string expected_form(const std::string& name, const std::vector<std::string>& parameters) {
  std::string numbers, meanings;
  for (const std::string& parameter : parameters) {
    numbers += numbers.empty() ? "NUMBER" : ",NUMBER";
    meanings += (meanings.empty() ? "its " : " and its ") + parameter;
  }
  return name + '(' + numbers + "), the number" + (parameters.size() > 1 ? "s" : "") + " being " + meanings;
}

/// As many as there are, the first ones.
std::vector<double> numbers_in_brackets(const std::string& argument, const std::string& text,
                                        const std::vector<std::string>& parameters) {
  const std::size_t bracket = text.find('(');
  if (bracket == std::string::npos) return {};
  const std::string name = text.substr(0, bracket);
  if (parameters.empty()) refuse(argument, text, name + " without a number");
  std::vector<double> numbers;
  const char* const last = text.data() + text.size() - 1;
  const char* next = text.data() + bracket;
  while (next != last) {
    const auto [end, error] = std::from_chars(next + 1, last, numbers.emplace_back());
    const bool goes_on = *end == ',' && numbers.size() < parameters.size();
    if (error != std::errc() || !(goes_on || (end == last && *last == ')'))) break;
    next = end;
  }
  if (next != last || *last != ')') refuse(argument, text, expected_form(name, parameters));
  return numbers;
}

}  // namespace

std::optional<double> number_in_brackets(const std::string& argument, const std::string& text,
                                         const std::string& parameter) {
  if (text.find('(') == std::string::npos) return std::nullopt;
  const std::vector<double> numbers = numbers_in_brackets(
      argument, text, parameter.empty() ? std::vector<std::string>{} : std::vector<std::string>{parameter});
  return numbers.front();
}

std::vector<double> numbers_of(const std::string& text, std::initializer_list<const Parameter<>*> parameters) {
  std::vector<std::string> names;
  for (const Parameter<>* const parameter : parameters)
    if (!parameter->name.empty()) names.push_back(parameter->name);
  std::vector<double> numbers = numbers_in_brackets("algorithm", text, names);
  std::size_t n = 0;
  for (const Parameter<>* const parameter : parameters) {
    if (n == numbers.size()) numbers.push_back(parameter->values().front());
    if (const std::string expected = parameter->expected(numbers[n]); !expected.empty())
      refuse("the number of " + text + ", its " + parameter->name + ",", numbers[n], expected);
    ++n;
  }
  return numbers;
}

}  // namespace dsop
