// Lists of numbers and names, and shares, as they stand on a command line.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "contenders.hpp"

namespace dsop::bench {

/// "1,2,4", "1000:8000:1000" (first, last, step) or both mixed: whole numbers. Throws Error naming the option, the
/// text and what was expected.
std::vector<std::size_t> parse_numbers(const std::string& option, const std::string& text);

/// "1024x2048,2048x100": rows and columns of layers. Throws Error as above.
std::vector<std::pair<std::size_t, std::size_t>> parse_layers(const std::string& option, const std::string& text);

/// "ring,ok-topk-published(32,64)": commas in brackets part nothing.
std::vector<std::string> split_names(const std::string& text);

/// "ring,butterfly"
std::vector<std::string> split(const std::string& text, char separator);

/// A link's rate, in bits, and as it was written: "200mbit".
struct Rate {
  std::string text;
  double bits_per_second;
};

/// "200mbit,2.5gbit". Throws Error as above.
std::vector<Rate> parse_rates(const std::string& option, const std::string& text);

/// "0.1", of a and of b, or "0.1,1". Throws Error as above.
Densities parse_densities(const std::string& text);

/// "0.001,0.01": shares from 0 to 1. Throws Error as above.
std::vector<double> parse_shares(const std::string& option, const std::string& text);

/// "dense,sparse"; left out: both, where there are zeros. Throws Error as above.
std::vector<Encoding> parse_encodings(const std::string& text, Densities densities);

/// "5%" becomes "0.05". Empty, or what is wrong.
std::string percentage(std::string& text);

}  // namespace dsop::bench
