#include "calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <dsop/plan.hpp>

#include "collect.hpp"
#include "host.hpp"
#include "inputs.hpp"
#include "kernels/add.hpp"
#include "kernels/outer_product.hpp"
#include "memory.hpp"
#include "patterns/hypercube.hpp"
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

// One of many steps in which everybody sends and receives `bytes`: step(s, out, in). Of long messages as many as in an
// allgather: where no pieces are made and the same two ranks exchange them more often, the next one's handshake waits
// behind the last one's bytes.
template <class Step>
double step_seconds(Transport& transport, std::size_t bytes, int steps_of_allgather, Step step) {
  const std::vector<char> out(bytes);
  std::vector<char> in(bytes);
  const int steps = bytes < (1 << 16) ? 24 : steps_of_allgather;
  return median_seconds(transport, bytes < (1 << 18) ? 15 : 7,
                        [&] {
                          for (int s = 0; s < steps; ++s) step(s, std::span(out), std::span(in));
                        }) /
         steps;
}

double ring_step_seconds(Transport& transport, std::size_t bytes) {
  const patterns::Ring ring(transport);
  return step_seconds(transport, bytes, ring.size - 1,
                      [&](int, auto out, auto in) { transport.sendrecv(out, ring.right(), in, ring.left()); });
}

// Partners at changing distances, as in recursive doubling; a rank beyond the hypercube looks on.
double exchange_step_seconds(Transport& transport, std::size_t bytes) {
  const patterns::Hypercube cube(transport.rank(), transport.size());
  return step_seconds(transport, bytes, cube.dimensions(), [&](int s, auto out, auto in) {
    const int partner = cube.rank ^ (1 << (s % cube.dimensions()));
    if (!cube.is_extra()) transport.sendrecv(out, partner, in, partner);
  });
}

// LogGP's g: the time from one small message to the next when many are sent without waiting.
double gap_seconds(Transport& transport) {
  constexpr int messages = 200;
  const patterns::Ring ring(transport);
  char out = 0;
  std::vector<char> in(messages);
  return median_seconds(
             transport, 15,
             [&] {
               std::vector<Request> requests;
               for (int i = 0; i < messages; ++i)
                 requests.push_back(transport.irecv(std::span(&in[static_cast<std::size_t>(i)], 1), ring.left()));
               for (int i = 0; i < messages; ++i) requests.push_back(transport.isend(std::span(&out, 1), ring.right()));
               for (Request& request : requests) transport.wait(request);
             }) /
         messages;
}

// LogGP's o: the time until a send's call returns. The receives stand ready.
double overhead_seconds(Transport& transport) {
  const patterns::Ring ring(transport);
  char out = 0;
  char in = 0;
  std::vector<double> seconds;
  for (int i = 0; i < 200; ++i) {
    Request receive = transport.irecv(std::span(&in, 1), ring.left());
    Request send;
    seconds.push_back(seconds_of([&] { send = transport.isend(std::span(&out, 1), ring.right()); }));
    transport.wait(receive);
    transport.wait(send);
  }
  return largest_of_all_ranks(transport, median(seconds));
}

void measure_network(Transport& transport, Machine& machine) {
  const double small = ring_step_seconds(transport, 1);
  for (std::size_t i = 0; i < step_bytes.size(); ++i) {
    machine.ring_step_seconds[i] = ring_step_seconds(transport, step_bytes[i]);
    machine.exchange_step_seconds[i] = exchange_step_seconds(transport, step_bytes[i]);
  }
  const double large = machine.ring_step_seconds.back();
  machine.overhead_seconds = std::min(overhead_seconds(transport), small / 2.1);
  machine.gap_seconds = gap_seconds(transport);
  machine.latency_seconds = small - 2 * machine.overhead_seconds;
  machine.gap_per_byte_seconds = std::max(large - small, 1e-15) / static_cast<double>(step_bytes.back());
}

void measure_arithmetic(Transport& transport, Machine& machine) {
  constexpr std::size_t side = 1024;
  constexpr std::size_t pairs = 256;
  const InputFactors<float> factors(1, transport.rank(), pairs, side, side);
  std::vector<float> C(side * side);
  constexpr int products = 10;  // longer than a rank's turn on a core that it shares
  const double product =
      median_seconds(transport, 5,
                     [&] {
                       for (int i = 0; i < products; ++i)
                         kernels::product<float>(factors.view().a, factors.view().b, {C.data(), side, side}, 1, 0);
                     }) /
      products;
  // Far larger than a cache, so that it is memory that is measured.
  std::vector<float> sum(std::size_t{16} << 20, 1);
  const std::vector<float> terms(sum.size(), 1);
  const double addition = median_seconds(transport, 7, [&] { kernels::add<float>(sum, sum, terms); });
  machine.memory_bytes_per_second = 3 * static_cast<double>(sum.size() * sizeof(float)) / addition;
  const double writing = static_cast<double>(side * side * sizeof(float)) / machine.memory_bytes_per_second;
  machine.flops_per_second = 2.0 * side * side * pairs / std::max(product - writing, product / 2);
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
  Machine machine = transport.default_machine();
  machine.source = "calibrated with " + ranks_and_cores(transport);
  measure_arithmetic(transport, machine);
  measure_indexed_addition(transport, machine);
  if (transport.size() > 1) {
    measure_network(transport, machine);
    machine.hidden_share = hidden_share(transport, machine);
    count_as_overhead(1 - machine.hidden_share, machine);
  }
  return machine;
}

}  // namespace dsop::bench
