#include "select.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <stdexcept>

#include <dsop/algorithms.hpp>
#include <dsop/errors.hpp>
#include <dsop/problem.hpp>
#include <dsop/selection.hpp>

#include "algorithms/selection/ranges.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "base/json_text.hpp"
#include "host.hpp"
#include "inputs.hpp"
#include "kernels/magnitude.hpp"
#include "kernels/threads.hpp"
#include "memory.hpp"
#include "rounds.hpp"
#include "statistics.hpp"
#include "types.hpp"

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

template <class T>
std::vector<T> gradient_like(std::size_t size) {
  const auto uniform = [](std::uint64_t draw) { return (static_cast<double>(draw >> 11) + 0.5) * 0x1p-53; };
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double radius = std::sqrt(-2 * std::log(uniform(mix(3 * i))));
    const double normal = radius * std::cos(2 * std::acos(-1.0) * uniform(mix(3 * i + 1)));
    values[i] = static_cast<T>(normal * (mix(3 * i + 2) % 10 == 0 ? 1e-2 : 1e-3));
  }
  return values;
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

// `selection` is null for what chooses nothing.
void write_row(std::ostream& table, DataType type, std::size_t size, std::size_t k, const Loop& loop,
               const Selection* selection, const Loop& read, const Loop& nth) {
  const double seconds = median(loop.seconds);
  const std::string chosen = selection == nullptr ? "-" : std::to_string(selection->chosen);
  const auto read_bytes = static_cast<double>(size * bytes_of(type));
  const double written_bytes =
      selection == nullptr ? 0 : static_cast<double>(selection->chosen * (bytes_of(type) + sizeof(std::uint32_t)));
  const Interval interval = median_interval(loop.seconds);
  // A space of its own before each, as a stalled round's ratio may be wider than its column.
  table << std::setw(6) << name(type) << ' ' << std::setw(11) << size << ' ' << std::setw(10) << k << "  " << std::left
        << std::setw(22) << loop.name << std::right << ' ' << std::setw(10) << chosen << std::fixed
        << std::setprecision(1) << ' ' << std::setw(11) << seconds * 1e6 << ' ' << std::setw(11) << interval.low * 1e6
        << ' ' << std::setw(11) << interval.high * 1e6 << std::setprecision(2) << ' ' << std::setw(8)
        << read_bytes / seconds * 1e-9 << ' ' << std::setw(8) << median(nth.seconds) / seconds << std::setprecision(3)
        << ' ' << std::setw(8) << median(read.seconds) / seconds << ' ' << std::setw(8)
        << (read_bytes + written_bytes) / read_bytes * median(read.seconds) / seconds << '\n'
        << std::flush;
}

template <class T>
void measure_point(const SelectOptions& options, std::size_t size, double density, std::ostream& table,
                   RowsFile& rows) {
  const std::size_t k = chosen_of(density, size);
  const std::vector<T> values = gradient_like<T>(size);
  std::vector<Pair<T>> pairs(size);
  std::vector<std::uint32_t> indices(room_for(k, size));
  std::vector<T> chosen(indices.size());

  volatile kernels::Key<T> sink = 0;
  T kth = 0;
  std::vector<Loop> loops{{"read", [&] { sink = read_all<T>(values); }},
                          {"nth_element", [&] { kth = nth_of_pairs<T>(values, k, pairs); }}};
  std::vector<Selection> selections(options.algorithms.size());
  for (std::size_t a = 0; a < selections.size(); ++a) {
    const auto selector = std::make_shared<Selector<T>>(options.algorithms[a]);
    loops.push_back(
        {options.algorithms[a], [&, selector, a] { selections[a] = selector->select(values, k, indices, chosen); }});
  }
  measure_rounds(loops, options.iterations);

  for (std::size_t l = 0; l < loops.size(); ++l) {
    const Selection* const selection = l < 2 ? nullptr : &selections[l - 2];
    if (selection != nullptr && loops[l].name == "exact" && selection->threshold != static_cast<double>(kth))
      throw std::runtime_error("exact: its threshold is not that of nth_element");
    write_row(table, data_type<T>, size, k, loops[l], selection, loops[0], loops[1]);
    rows.append([&](std::ostream& out) {
      nlohmann::ordered_json json{{"benchmark", "select"},       {"algorithm", loops[l].name},
                                  {"dtype", name(data_type<T>)}, {"size", size},
                                  {"density", density},          {"k", k},
                                  {"chosen", nullptr},           {"calls_per_sample", loops[l].calls_per_sample},
                                  {"seconds", loops[l].seconds}, {"host", host_facts()}};
      if (selection != nullptr) json["chosen"] = selection->chosen;
      out << json_text(json) << '\n';
    });
  }
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
    const std::size_t room = room_for(chosen_of(densest, size), size);
    std::size_t most_bytes = 0;
    for (const DataType type : types_named(options.type))
      // The pieces of the threads and the keys among which the k-th is looked for are as much again.
      most_bytes = std::max(most_bytes, visit(type, [&]<class T>(T) {
                              return size * (sizeof(T) + sizeof(Pair<T>)) + 2 * room * (sizeof(T) + sizeof(int));
                            }));
    check_memory(most_bytes);
  }
}

void write_header(std::ostream& table, const SelectOptions& options) {
  table << "# dsop selections of about k of N values, a mixture of normal ones; threads " << kernels::thread_count()
        << ", instructions " << name(best_instruction_set()) << ", " << options.iterations << " rounds\n"
        << "# read: all values, and nothing else; nth_element: (magnitude, index) pairs made, then std::nth_element on "
           "one thread\n"
        << "# threshold-reuse: its median is that of a call between two evaluations\n"
        << "# us: median time, with the 95 % interval of the median; GB/s: bytes of the values per second\n"
        << "# ratios: of medians; x nth is nth_element's time over its own, of read is read's time over its own,\n"
        << "# +written the same where what is written, chosen values and indices, counts as bytes moved too\n"
        << "# type           N          k  algorithm                  chosen          us         low        high     "
           "GB/s    x nth  of read +written\n";
}

}  // namespace

void select_benchmark(const SelectOptions& asked, std::ostream& table, RowsFile& rows) {
  const SelectOptions options = with_all_names(asked);
  check(options);
  write_header(table, options);
  for (const std::size_t size : options.sizes)
    for (const double density : options.densities)
      for (const DataType type : types_named(options.type))
        visit(type, [&]<class T>(T) { measure_point<T>(options, size, density, table, rows); });
}

}  // namespace dsop::bench
