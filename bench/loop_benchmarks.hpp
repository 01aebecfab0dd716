// The benchmark of the local product: our kernel, OpenBLAS and writing C alone, in one interleaved run.
#pragma once

#include <cstddef>
#include <vector>

#include "loops.hpp"

namespace CLI {
class App;
}

namespace dsop::bench {

struct KernelOptions : LoopOptions {
  std::size_t rows = 4096;
  std::size_t columns = 4096;
  std::vector<std::size_t> inner = {};
};

/// Measures C = A^T B for every type and inner dimension. Every product is compared with OpenBLAS's.
/// Throws Error for options out of range or products that are wrong.
void kernel_benchmark(const KernelOptions& options);

struct SumOptions : LoopOptions {
  std::size_t size = 0;  ///< elements
};

/// Sums two vectors of equally likely indices, at densities from 0.0001 on as long as sums can be sparse: sparse ones,
/// beside a plain merge of them, with which they are compared, and the same vectors dense.
void sum_benchmark(const SumOptions& options);

struct SelectOptions : LoopOptions {
  std::vector<std::size_t> sizes = {};
  std::vector<double> densities = {};        ///< k / N
  std::vector<std::string> algorithms = {};  ///< names, or "all"
};

/// Measures selections of values as gradients have them (a mixture of normal ones, most of them small), beside what
/// they are measured by: reading the vector and nothing else, and nth_element. Each has room for 2 k + 100. What they
/// choose is compared with what stands there, and of "exact" with nth_element's. Throws Error for options out of range.
void select_benchmark(const SelectOptions& options);

/// Each adds the subcommand of that name to `app`, which runs it when it has parsed its options and sets the exit
/// status. Under mpirun the rank that speaks measures, alone.
void add_kernel(CLI::App& app, int& status);
void add_select(CLI::App& app, int& status);

}  // namespace dsop::bench
