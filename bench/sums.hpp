// The benchmark of sums of two vectors: sparse ones, beside a plain merge of them, and the same vectors dense.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

namespace dsop::bench {

struct SumOptions {
  std::size_t size = 0;        ///< elements
  std::string dtype = "both";  ///< f32, f64 or both
  std::size_t iterations = 15;
};

/// Sums two vectors of equally likely indices, at densities from 0.0001 on as long as sums can be sparse, and writes a
/// table of fixed columns with `#` comment lines; to `json_lines`, unless it is null, one object for each contender
/// with all its samples. Throws std::runtime_error if a sum is wrong.
void sum_benchmark(const SumOptions& options, std::ostream& table, std::ostream* json_lines);

}  // namespace dsop::bench
