#include "machine/measure_arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <dsop/views.hpp>

#include "kernels/add.hpp"

namespace dsop {
namespace {

constexpr int most_passes = 8;

// Of G as large as `to`.
double write_bytes_per_second(Sampling& sampling, int samples, const MeasuredMemory& memory, std::span<float> to) {
  constexpr std::size_t columns = 2000;  // not a power of two, whose rows would meet in few lines of a cache
  const MatrixView<float> c(to.data(), to.size() / columns, columns);
  const double seconds = sampling.kernel_seconds(samples, most_passes, [&] { memory.product(1, c); });
  return static_cast<double>(c.rows * columns * sizeof(float)) / seconds;
}

// As in Machine::product_seconds().
double flops_per_second(Sampling& sampling, int samples, const MeasuredMemory& memory, std::size_t pairs,
                        MatrixView<float> c, double write_bytes_per_second) {
  const auto most_runs = static_cast<int>(2048 / pairs);
  const double seconds = sampling.kernel_seconds(samples, most_runs, [&] { memory.product(pairs, c); });
  const auto elements = static_cast<double>(c.rows * c.columns);
  const double writing = elements * sizeof(float) / write_bytes_per_second;
  const double arithmetic_squared = std::max(seconds * seconds - writing * writing, seconds * seconds / 4);
  return 2 * elements * static_cast<double>(pairs) / std::sqrt(arithmetic_squared);
}

}  // namespace

void measure_arithmetic(Sampling& sampling, const Effort& effort, const MeasuredMemory& memory, Machine& machine) {
  // What was just added would come from a cache.
  std::size_t additions = 0;
  const double addition = sampling.kernel_seconds(effort.addition_samples, most_passes, [&] {
    const std::size_t first = additions++ % (effort.vector_elements / effort.added_elements) * effort.added_elements;
    const std::span<float> sum = memory.sum().subspan(first, effort.added_elements);
    kernels::add<float>(sum, sum, memory.terms().subspan(first, effort.added_elements));
  });
  machine.memory_bytes_per_second = 3 * static_cast<double>(effort.added_elements * sizeof(float)) / addition;

  const std::span<float> small = memory.sum().first(effort.vector_elements / 4);
  machine.write_bytes_per_second = write_bytes_per_second(sampling, effort.product_samples, memory, small);
  machine.large_write_bytes_per_second =
      effort.large_write_samples > 0
          ? write_bytes_per_second(sampling, effort.large_write_samples, memory, memory.both())
          : std::min(machine.write_bytes_per_second, machine.memory_bytes_per_second);

  const MatrixView<float> c = memory.square(effort.product_side);
  const auto flops = [&](std::size_t pairs) {
    return flops_per_second(sampling, effort.product_samples, memory, pairs, c, machine.write_bytes_per_second);
  };
  machine.flops_per_second = flops(own_kernel_pairs);
  machine.blas_flops_per_second = flops(blas_pairs);
}

void take_median_arithmetic(std::span<const Machine> measured, Machine& machine) {
  for (double Machine::*const rate :
       {&Machine::memory_bytes_per_second, &Machine::write_bytes_per_second, &Machine::large_write_bytes_per_second,
        &Machine::flops_per_second, &Machine::blas_flops_per_second}) {
    std::vector<double> rates;
    for (const Machine& one : measured) rates.push_back(one.*rate);
    const auto [slowest, fastest] = std::ranges::minmax(rates);
    machine.measured_on.arithmetic_spread = std::max(machine.measured_on.arithmetic_spread, fastest / slowest);
    machine.*rate = median(std::move(rates));
  }
}

}  // namespace dsop
