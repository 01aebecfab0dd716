#include "lists.hpp"

#include <charconv>
#include <sstream>

#include <dsop/errors.hpp>

namespace dsop::bench {
namespace {

constexpr std::size_t most_numbers = 10000;

[[noreturn]] void refuse(const std::string& option, const std::string& text) {
  throw Error(option + " is \"" + text + "\", expected whole numbers like 1,2,4 or first:last:step, at most " +
              std::to_string(most_numbers) + " of them");
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  if (text.empty() || text.back() == separator) parts.emplace_back();
  return parts;
}

std::vector<std::size_t> parse_numbers(const std::string& option, const std::string& text) {
  std::vector<std::size_t> numbers;
  for (const std::string& part : split(text, ',')) {
    std::vector<std::size_t> range;
    for (const std::string& digits : split(part, ':')) {
      std::size_t number = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error != std::errc() || end != digits.data() + digits.size()) refuse(option, text);
      range.push_back(number);
    }
    if (range.size() == 1) {
      numbers.push_back(range[0]);
    } else if (range.size() == 3 && range[0] <= range[1] && range[2] > 0 &&
               (range[1] - range[0]) / range[2] < most_numbers) {
      const std::size_t steps = (range[1] - range[0]) / range[2];
      for (std::size_t step = 0; step <= steps; ++step) numbers.push_back(range[0] + step * range[2]);
    } else {
      refuse(option, text);
    }
  }
  if (numbers.size() > most_numbers) refuse(option, text);
  return numbers;
}

}  // namespace dsop::bench
