#include "loop_benchmarks.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>

#include <dsop/algorithms.hpp>
#include <dsop/errors.hpp>
#include <dsop/problem.hpp>
#include <dsop/selection.hpp>

#include "algorithms/selection/ranges.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "kernels/magnitude.hpp"
#include "kernels/threads.hpp"
#include "memory.hpp"
#include "sparse_inputs.hpp"

namespace dsop::bench {
namespace {

template <class T>
struct Pair {
  kernels::Key<T> magnitude;
  std::uint32_t index;
};

std::size_t chosen_of(double density, std::size_t size) {
  return std::max(std::size_t{1}, static_cast<std::size_t>(std::llround(density * static_cast<double>(size))));
}

/// All of the values' bits together, read by as many threads as a selection has, and asked for as far ahead: so memory
/// gives a third more than without.
template <class T>
kernels::Key<T> read_all(std::span<const T> values) {
  kernels::Key<T> all = 0;
  const std::size_t N = values.size();
  kernels::on_threads(selection::threads_for(N), [&](std::size_t t, std::size_t team) {
    kernels::Key<T> own = 0;
    constexpr std::size_t line = 64 / sizeof(T);
    for (std::size_t i = N * t / team, last = N * (t + 1) / team; i < last;) {
      __builtin_prefetch(values.data() + std::min(i + kernels::prefetch_bytes / sizeof(T), N));
      for (const std::size_t end = std::min(i + line, last); i < end; ++i)
        own |= std::bit_cast<kernels::Key<T>>(values[i]);
    }
    std::atomic_ref(all) |= own;
  });
  return all;
}

/// The magnitude of the k-th largest, after which the first k pairs are those of the k largest.
template <class T>
T nth_of_pairs(std::span<const T> values, std::size_t k, std::vector<Pair<T>>& pairs) {
  for (std::size_t i = 0; i < values.size(); ++i)
    pairs[i] = {kernels::key_of(values[i]), static_cast<std::uint32_t>(i)};
  const auto nth = pairs.begin() + static_cast<std::ptrdiff_t>(k) - 1;
  std::nth_element(pairs.begin(), nth, pairs.end(), [](const Pair<T>& left, const Pair<T>& right) {
    return left.magnitude != right.magnitude ? left.magnitude > right.magnitude : left.index < right.index;
  });
  return kernels::magnitude_of<T>(nth->magnitude);
}

template <class T>
struct Operands {
  std::size_t k;
  double density;
  std::vector<T> values;
  std::vector<Pair<T>> pairs = std::vector<Pair<T>>(values.size());
  std::vector<std::uint32_t> indices = std::vector<std::uint32_t>(capacity(k, values.size()));
  std::vector<T> chosen = std::vector<T>(indices.size());
  T kth = 0;  // by nth_element
  volatile kernels::Key<T> sink = 0;
};

template <class T>
Columns shown(const Row& row, const Operands<T>& of, std::optional<std::size_t> chosen) {
  const auto times_as_fast_as = [&](std::size_t i) { return (*row.among)[i]->median_seconds() / row.median_seconds(); };
  const auto read_bytes = static_cast<double>(of.values.size() * sizeof(T));
  const auto written_bytes = static_cast<double>(chosen.value_or(0) * (sizeof(T) + sizeof(std::uint32_t)));
  return Columns{{"type", 6, "dtype", name(data_type<T>)},
                 {"N", 12, "size", of.values.size()},
                 {"k", 11, "k", of.k},
                 {"algorithm", -22, "algorithm", row.label},
                 {"chosen", 11, "chosen", or_null(chosen)}} +
         interval_columns("us", 12, 12, row, microseconds) +
         Columns{{"GB/s", 9, "", read_bytes / row.median_seconds(), {1e-9, 2}},
                 {"x nth", 9, "", times_as_fast_as(1), two_decimals},
                 {"of read", 9, "", times_as_fast_as(0), {1, 3}},
                 {"+written", 9, "", (read_bytes + written_bytes) / read_bytes * times_as_fast_as(0), {1, 3}},
                 field("density", of.density)} +
         loop_fields(row);
}

template <class T>
Rows rows_of(const std::vector<std::string>& algorithms, std::size_t size, double density) {
  const std::size_t k = chosen_of(density, size);
  const auto of =
      std::make_shared<Operands<T>>(Operands<T>{k, density, gradient_like<T>(0, size, 0, Distribution::uniform)});
  Rows rows;
  const auto shown_alone = [of](const Row& row) { return shown(row, *of, std::nullopt); };
  add_loop(
      rows, "read", [of] { of->sink = read_all<T>(of->values); }, shown_alone);
  add_loop(
      rows, "nth_element", [of] { of->kth = nth_of_pairs<T>(of->values, of->k, of->pairs); }, shown_alone);
  for (const std::string& algorithm : algorithms) {
    const auto selector = std::make_shared<Selector<T>>(algorithm);
    const auto chosen = std::make_shared<std::size_t>();
    FunctionRow& row = add_loop(
        rows, algorithm, [=] { *chosen = selector->select(of->values, of->k, of->indices, of->chosen).chosen; },
        [=](const Row& measured) { return shown(measured, *of, *chosen); });
    const T least = algorithm == "exact" ? T{1} : T{0};  // times the k-th
    row.check = [=] {
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < *chosen; ++i)
        wrong += of->values[of->indices[i]] == of->chosen[i] && std::abs(of->chosen[i]) >= least * of->kth ? 0 : 1;
      return wrong;
    };
  }
  return rows;
}

SelectOptions with_all_names(SelectOptions options) {
  if (options.algorithms == std::vector<std::string>{"all"}) {
    options.algorithms.clear();
    for (const AlgorithmDescription& algorithm : describe_algorithms())
      if (algorithm.family == "selection") options.algorithms.push_back(algorithm.name);
  }
  return options;
}

void check(const SelectOptions& options) {
  for (const std::string& algorithm : options.algorithms) const Selector<float> named(algorithm);
  for (const std::size_t size : options.sizes) {
    if (size == 0 || size > sparse::most_elements)
      throw Error("--size is " + std::to_string(size) + ", expected 1 to 2^32");
    const double densest = *std::max_element(options.densities.begin(), options.densities.end());
    const std::size_t room = capacity(chosen_of(densest, size), size);
    std::size_t most_bytes = 0;
    for (const DataType type : types_named(options.dtype))
      // The pieces of the threads and the keys among which the k-th is looked for are as much again.
      most_bytes = std::max(most_bytes, visit(type, [&]<class T>(T) {
                              return size * (sizeof(T) + sizeof(Pair<T>)) + 2 * room * (sizeof(T) + sizeof(int));
                            }));
    check_memory(most_bytes);
  }
}

}  // namespace

void select_benchmark(const SelectOptions& asked) {
  const SelectOptions options = with_all_names(asked);
  check(options);
  Family family{
      .name = "select",
      .title = "select: about k of N values, a mixture of normal ones; threads " +
               std::to_string(kernels::thread_count()) + ", instructions " + std::string(name(best_instruction_set())) +
               ", " + std::to_string(options.iterations) + " rounds",
      .notes = {"read: all values, and nothing else; nth_element: (magnitude, index) pairs made, then std::nth_element "
                "on one thread",
                "threshold-reuse: its median is that of a call between two evaluations",
                "us: median time, with the 95 % interval of the median; GB/s: bytes of the values per second",
                "ratios: of medians; x nth is nth_element's time over its own, of read is read's time over its own,",
                "+written the same where what is written, chosen values and indices, counts as bytes moved too"}};
  for (const std::size_t size : options.sizes)
    for (const double density : options.densities)
      add_inputs(family, std::to_string(size) + " values", options.dtype,
                 [&options, size, density]<class T>() { return rows_of<T>(options.algorithms, size, density); });
  benchmark_loops(family, options);
}

}  // namespace dsop::bench
