#include "calibrate.hpp"

#include <algorithm>
#include <vector>

#include "collect.hpp"
#include "host.hpp"
#include "inputs.hpp"
#include "kernels/add.hpp"
#include "kernels/outer_product.hpp"
#include "patterns/ring.hpp"
#include "statistics.hpp"

namespace dsop::bench {
namespace {

// The median over repetitions of the slowest rank's seconds, after one run that does not count.
template <class Body>
double median_seconds(Transport& transport, int repetitions, Body body) {
  body();
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    barrier(transport);
    seconds.push_back(largest_of_all_ranks(transport, seconds_of(body)));
  }
  return median(seconds);
}

// One step of a ring in which everybody sends and receives `bytes`.
double ring_step_seconds(Transport& transport, std::size_t bytes, int steps) {
  const patterns::Ring ring(transport);
  std::vector<char> out(bytes);
  std::vector<char> in(bytes);
  return median_seconds(transport, 15,
                        [&] {
                          for (int s = 0; s < steps; ++s)
                            transport.sendrecv(std::span(out), ring.right(), std::span(in), ring.left());
                        }) /
         steps;
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
  constexpr std::size_t large_bytes = std::size_t{4} << 20;
  const double small = ring_step_seconds(transport, 1, 100);
  const double large = ring_step_seconds(transport, large_bytes, 2);
  machine.overhead_seconds = std::min(overhead_seconds(transport), small / 2.1);
  machine.gap_seconds = gap_seconds(transport);
  machine.latency_seconds = small - 2 * machine.overhead_seconds;
  machine.gap_per_byte_seconds = std::max(large - small, 1e-15) / large_bytes;
}

void measure_arithmetic(Transport& transport, Machine& machine) {
  constexpr std::size_t side = 1024;
  constexpr std::size_t pairs = 256;
  const InputFactors<float> factors(1, transport.rank(), pairs, side, side);
  std::vector<float> C(side * side);
  const double product = median_seconds(transport, 7, [&] {
    kernels::product<float>(factors.view().a, factors.view().b, {C.data(), side, side}, 1, false);
  });
  // Far larger than a cache, so that it is memory that is measured.
  std::vector<float> sum(std::size_t{16} << 20, 1);
  const std::vector<float> terms(sum.size(), 1);
  const double addition = median_seconds(transport, 7, [&] { kernels::add<float>(sum, sum, terms); });
  machine.memory_bytes_per_second = 3 * static_cast<double>(sum.size() * sizeof(float)) / addition;
  const double writing = static_cast<double>(side * side * sizeof(float)) / machine.memory_bytes_per_second;
  machine.flops_per_second = 2.0 * side * side * pairs / std::max(product - writing, product / 2);
}

}  // namespace

Machine calibrate(Transport& transport) {
  Machine machine = transport.default_machine();
  machine.source = "calibrated with " + ranks_and_cores(transport);
  measure_arithmetic(transport, machine);
  if (transport.size() > 1) measure_network(transport, machine);
  return machine;
}

}  // namespace dsop::bench
