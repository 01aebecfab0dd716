// Lists of numbers and names as they stand on a command line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dsop::bench {

/// "1,2,4", "1000:8000:1000" (first, last, step) or both mixed: whole numbers. Throws Error naming the option, the
/// text and what was expected.
std::vector<std::size_t> parse_numbers(const std::string& option, const std::string& text);

/// "ring,butterfly"
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace dsop::bench
