// What a number on a command line may be.
#pragma once

#include <CLI/CLI.hpp>

#include <cstddef>
#include <sstream>
#include <string>

#include "base/shown.hpp"

namespace dsop::learn {

/// CLI::Range, which lets NaN pass and says six decimals of a bound.
inline CLI::Validator number_range(double least, double most) {
  const auto check = [=](const std::string& text) -> std::string {
    double number = 0;
    if (CLI::detail::lexical_cast(text, number) && number >= least && number <= most) return {};
    return (std::ostringstream() << "is \"" << shown(text) << "\", expected a number from " << least << " to " << most)
        .str();
  };
  return {check, ""};
}

/// CLI11 takes -1 for the largest whole number.
inline CLI::Range not_negative() {
  return {std::size_t{0}, std::size_t{1} << 62};
}

}  // namespace dsop::learn
