// The benchmarks on one rank: of the local product, of selections and of sums of two vectors.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "benchmark.hpp"
#include "types.hpp"

namespace CLI {
class App;
}

namespace dsop::bench {

struct LoopOptions {
  std::string dtype = "both";  ///< f32, f64 or both
  std::size_t iterations = 15;
  std::string out = {};  ///< JSON lines are appended to it; empty: none
};

/// Adds a contender without messages. A turn lasts a millisecond at least and follows an untimed call, so that memory
/// is where that contender leaves it.
FunctionRow& add_loop(Rows& rows, const std::string& name, const std::function<void()>& call,
                      const std::function<Columns(const Row&)>& shown);

/// The median and its 95 % interval.
Columns interval_columns(const std::string& title, int width, int interval_width, const Row& row, Print print);

/// Adds an input of each type, whose rows make<T>() gives.
template <class Make>
void add_inputs(Family& family, const std::string& text, const std::string& dtype, Make make) {
  for (const DataType type : types_named(dtype))
    family.inputs.push_back({text, [type, make](Watch&) {
                               return visit(type, [&]<class T>(T) { return make.template operator()<T>(); });
                             }});
}

/// As benchmark(), verified, on one rank that is not among others. The objects have calls_per_sample and seconds, too.
void benchmark_loops(Family family, const LoopOptions& options);
Columns loop_fields(const Row& row);

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
