#include "calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <dsop/plan.hpp>

#include "calls/measure.hpp"
#include "collect.hpp"
#include "host.hpp"
#include "inputs.hpp"
#include "kernels/outer_product.hpp"
#include "memory.hpp"
#include "patterns/ring.hpp"
#include "sparse/merge.hpp"
#include "sparse_inputs.hpp"
#include "statistics.hpp"
#include "transport/working.hpp"

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

// Of vectors with few elements, which ones being chance, far larger than a cache when written out.
void measure_indexed_addition(Transport& transport, Machine& machine) {
  constexpr std::size_t size = std::size_t{16} << 20;
  constexpr double density = 0.01;
  const SparseVector<float> left(2 * transport.rank(), size, density, Distribution::uniform);
  const SparseVector<float> right(2 * transport.rank() + 1, size, density, Distribution::uniform);
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

// Blocks of 256 KiB go round the ring, with and without pieces of a product that take all of the time that this leaves
// the processor idle. Of the pieces' time, the share that the two together do not take. Ranks that share cores take
// turns of milliseconds, so that a sample is long and the three are measured in turns.
double hidden_share(Transport& transport, const Machine& machine) {
  constexpr std::size_t block_bytes = 1 << 18;
  constexpr std::size_t piece_rows = 64;
  constexpr std::size_t columns = 1024;
  constexpr double sample_seconds = 0.05;
  constexpr int rounds = 15;
  const InputFactors<float> factors(1, transport.rank(), 32, piece_rows, columns);
  std::vector<float> C(piece_rows * columns);
  const auto make_pieces = [&](int pieces) {
    for (int i = 0; i < pieces; ++i)
      kernels::product<float>(factors.view().a, factors.view().b, {C.data(), piece_rows, columns}, 1, 0);
  };
  const auto P = static_cast<std::size_t>(transport.size());
  std::vector<char> blocks(P * block_bytes);
  const auto gather = [&](Transport& through) {
    patterns::ring_allgather(through, through.rank(), [&](int b) {
      return std::span(blocks).subspan(static_cast<std::size_t>(b) * block_bytes, block_bytes);
    });
  };

  constexpr int trial_pieces = 200;
  const double piece_seconds = median_seconds(transport, 5, [&] { make_pieces(trial_pieces); }) / trial_pieces;
  const Cost gathering{.messages = P - 1,
                       .bytes = (P - 1) * block_bytes,
                       .communication_seconds = median_seconds(transport, 5, [&] { gather(transport); })};
  const auto pieces = static_cast<int>(gathering.idle_seconds(machine) / piece_seconds);
  if (pieces == 0) return 0;
  const auto gathers = static_cast<int>(std::ceil(sample_seconds / gathering.communication_seconds));
  const auto seconds_of_gathers = [&](auto gather_once) {
    return slowest_seconds(transport, [&] {
      for (int i = 0; i < gathers; ++i) gather_once();
    });
  };
  std::vector<double> shares;
  for (int round = 0; round < rounds; ++round) {
    const double gather_seconds = seconds_of_gathers([&] { gather(transport); });
    const double pieces_seconds = seconds_of_gathers([&] { make_pieces(pieces); });
    const double together = seconds_of_gathers([&] {
      int left = pieces;
      WorkingTransport never_idle(transport, [&] {
        if (left == 0) return false;
        make_pieces(1);
        --left;
        return true;
      });
      gather(never_idle);
      make_pieces(left);
    });
    shares.push_back((gather_seconds + pieces_seconds - together) / pieces_seconds);
  }
  return std::clamp(median(shares), 0.0, 1.0);
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
  const std::vector<int> nodes = shared_nodes(of_all_ranks(transport, transport.node()));
  Machine machine = measure_machine(transport, nodes, effort_of_calibration);
  machine.source = "calibrated with " + ranks_and_cores(transport);
  measure_indexed_addition(transport, machine);
  if (transport.size() > 1) {
    machine.hidden_share = hidden_share(transport, machine);
    count_as_overhead(1 - machine.hidden_share, machine);
  }
  return machine;
}

}  // namespace dsop::bench
