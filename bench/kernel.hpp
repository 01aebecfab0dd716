// The benchmark of the local product: our kernel, OpenBLAS and writing C alone, in one interleaved run.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace dsop::bench {

struct KernelOptions {
  std::size_t rows = 4096;
  std::size_t columns = 4096;
  std::vector<std::size_t> inner{1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
  std::string dtype = "both";  ///< f32, f64 or both
  std::size_t iterations = 15;
};

/// Measures C = A^T B for every type and inner dimension and writes a table of fixed columns with `#` comment lines;
/// to `json_lines`, unless it is null, one object for each contender with all its samples.
/// Every contender's result is compared with OpenBLAS's first. The contenders take turns in an order drawn anew each
/// round; each sample follows an untimed call of the same contender, so that C is where that contender leaves it.
/// Throws std::invalid_argument for options out of range, std::runtime_error if a product is wrong.
void kernel_benchmark(const KernelOptions& options, std::ostream& table, std::ostream* json_lines);

}  // namespace dsop::bench
