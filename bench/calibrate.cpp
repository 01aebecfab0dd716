#include "calibrate.hpp"

#include <algorithm>
#include <vector>

#include "collect.hpp"
#include "host.hpp"
#include "machine/measure.hpp"
#include "memory.hpp"
#include "sparse/merge.hpp"
#include "sparse_inputs.hpp"
#include "statistics.hpp"

namespace dsop::bench {
namespace {

// The median over repetitions of the slowest rank's seconds, after one run that does not count.
template <class Body>
double median_seconds(Transport& transport, int repetitions, Body body) {
  body();
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) seconds.push_back(slowest_seconds(transport, body));
  return median(seconds);
}

// Of vectors with few elements, which ones being chance, far larger than a cache when written out. The same vectors on
// every rank: all must find the same number.
void measure_indexed_addition(Transport& transport, Machine& machine) {
  constexpr std::size_t size = std::size_t{16} << 20;
  constexpr double density = 0.01;
  const SparseVector<float> left(0, size, density, Distribution::uniform);
  const SparseVector<float> right(1, size, density, Distribution::uniform);
  const auto elements = static_cast<double>(left.view().indices.size() + right.view().indices.size());
  std::vector<float> memory(size);
  constexpr int sums = 16;  // longer than a rank's turn on a core that it shares, as the dense addition is
  const double seconds = median_seconds(transport, 7,
                                        [&] {
                                          for (int i = 0; i < sums; ++i)
                                            sparse::merge<float>(left.view(), right.view(), memory);
                                        }) /
                         sums;
  machine.indexed_addition_factor = seconds / machine.addition_seconds(elements, DataType::f32);
}

// What of a message's way can't be used for anything else is the processor's: of ranks that share cores, their turns.
void count_as_overhead(double share_of_latency, Machine& machine) {
  const double small = machine.latency_seconds + 2 * machine.overhead_seconds;
  machine.overhead_seconds =
      std::min(machine.overhead_seconds + share_of_latency * machine.latency_seconds / 2, small / 2.1);
  machine.latency_seconds = small - 2 * machine.overhead_seconds;
}

}  // namespace

Machine calibrate(Transport& transport) {
  check_memory(transport, std::size_t{256} << 20);  // two large vectors, and room for OpenBLAS's own
  const std::vector<int> nodes = nodes_of_ranks(transport);
  Machine machine = measure_machine(transport, nodes, effort_of_calibration);
  machine.source = "calibrated with " + ranks_and_cores(transport);
  measure_indexed_addition(transport, machine);
  if (transport.size() > 1) count_as_overhead(1 - machine.hidden_share, machine);
  return machine;
}

}  // namespace dsop::bench
