#include "lists.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iomanip>
#include <sstream>
#include <utility>

#include <dsop/errors.hpp>

#include "base/shown.hpp"

namespace dsop::bench {
namespace {

constexpr std::size_t most_numbers = 10000;

[[noreturn]] void refuse(const std::string& option, const std::string& text) {
  throw Error(option + " is \"" + shown(text) + "\", expected whole numbers like 1,2,4 or first:last:step, at most " +
              std::to_string(most_numbers) + " of them");
}

// The number that the text begins with, and what comes after it; -1 and all of the text if it begins with none.
std::pair<double, std::string> leading_number(const std::string& text) {
  try {
    std::size_t end = 0;
    const double number = std::stod(text, &end);
    return {number, text.substr(end)};
  } catch (const std::exception&) {
    return {-1, text};
  }
}

double share(const std::string& text, const std::string& part) {
  const auto [number, rest] = leading_number(part);
  if (!rest.empty() || !(number >= 0 && number <= 1))
    throw Error("--density is \"" + shown(text) + "\", expected one or two shares from 0 to 1, of a and of b");
  return number;
}

}  // namespace

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& part : split(text, ',')) {
    const bool goes_on = !names.empty() && names.back().find('(') != names.back().npos && names.back().back() != ')';
    if (goes_on)
      names.back() += ',' + part;
    else
      names.push_back(part);
  }
  return names;
}

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

std::vector<std::pair<std::size_t, std::size_t>> parse_layers(const std::string& option, const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> layers;
  for (const std::string& part : split(text, ',')) {
    std::array<std::size_t, 2> sides{};
    const std::vector<std::string> numbers = split(part, 'x');
    bool whole = numbers.size() == sides.size() && layers.size() < most_numbers;
    for (std::size_t i = 0; whole && i < sides.size(); ++i) {
      const char* const end = numbers[i].data() + numbers[i].size();
      whole = std::from_chars(numbers[i].data(), end, sides[i]).ptr == end && sides[i] > 0;
    }
    if (!whole)
      throw Error(option + " is \"" + shown(text) + "\", expected rows x columns of at most " +
                  std::to_string(most_numbers) + " layers, like 1024x2048,2048x100");
    layers.emplace_back(sides[0], sides[1]);
  }
  return layers;
}

std::vector<Rate> parse_rates(const std::string& option, const std::string& text) {
  std::vector<Rate> rates;
  for (const std::string& part : split(text, ',')) {
    const auto [number, unit] = leading_number(part);
    const double bits_per_second = number * (unit == "gbit" ? 1e9 : 1e6);
    if ((unit != "mbit" && unit != "gbit") || !(bits_per_second >= 1e6 && bits_per_second <= 1e13))
      throw Error(option + " is \"" + shown(text) + "\", expected rates from 1mbit to 10000gbit, like 200mbit,2.5gbit");
    rates.push_back({part, bits_per_second});
  }
  return rates;
}

Densities parse_densities(const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() > 2) share(text, "");
  return {share(text, parts.front()), share(text, parts.back())};
}

std::vector<double> parse_shares(const std::string& option, const std::string& text) {
  std::vector<double> shares;
  for (const std::string& part : split(text, ',')) {
    const auto [number, rest] = leading_number(part);
    if (!rest.empty() || !(number >= 0 && number <= 1))
      throw Error(option + " is \"" + shown(text) + "\", expected shares from 0 to 1 like 0.001,0.01");
    shares.push_back(number);
  }
  return shares;
}

std::vector<Encoding> parse_encodings(const std::string& text, Densities densities) {
  if (text.empty())
    return densities.a < 1 || densities.b < 1 ? std::vector{Encoding::dense, Encoding::sparse}
                                              : std::vector{Encoding::dense};
  std::vector<Encoding> encodings;
  for (const std::string& part : split(text, ',')) {
    const auto known = {Encoding::dense, Encoding::find_zeros, Encoding::sparse};
    const auto found = std::find_if(known.begin(), known.end(), [&](Encoding e) { return part == name(e); });
    if (found == known.end() || std::find(encodings.begin(), encodings.end(), *found) != encodings.end())
      throw Error("--encoding is \"" + shown(text) + "\", expected some of dense, find-zeros, sparse");
    encodings.push_back(*found);
  }
  return encodings;
}

std::string percentage(std::string& text) {
  const auto [percent, rest] = leading_number(text);
  if (rest != "%" || !(percent > 0 && percent < 100))
    return "is \"" + shown(text) + "\", expected a percentage like 5%";
  std::ostringstream fraction;
  fraction << std::setprecision(17) << percent / 100;
  text = fraction.str();
  return "";
}

}  // namespace dsop::bench
