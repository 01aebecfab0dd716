// The benchmark of selections, beside what they are measured by: reading the vector and nothing else, and nth_element.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "output.hpp"

namespace dsop::bench {

struct SelectOptions {
  std::vector<std::size_t> sizes;
  std::vector<double> densities;        ///< k / N
  std::vector<std::string> algorithms;  ///< names, or "all"
  std::string type = "f32";             ///< f32, f64 or both
  std::size_t iterations = 15;
};

/// Measures every algorithm on values as gradients have them (a mixture of normal ones, most of them small) and writes
/// a table of fixed columns with `#` comment lines; to `rows`, if that is a file, one object for each with all its
/// samples. Each has room for 2 k + 100. Throws Error for options out of range, std::runtime_error where exact's
/// threshold is not nth_element's.
void select_benchmark(const SelectOptions& options, std::ostream& table, RowsFile& rows);

}  // namespace dsop::bench
