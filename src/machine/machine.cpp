#include <dsop/machine.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <set>
#include <sstream>
#include <tuple>

#include <dsop/problem.hpp>

#include "base/largest_inner_dimension.hpp"
#include "base/refuse.hpp"
#include "base/streaming_bytes.hpp"
#include "machine/machine_fields.hpp"

namespace dsop {

namespace {

// On the line through the two measured sizes next to `bytes`; below the first size, from the smallest message's time.
double between_steps(const StepSeconds& seconds, double smallest_seconds, std::size_t bytes) {
  const auto above = std::upper_bound(step_bytes.begin(), step_bytes.end() - 1, bytes);
  const auto last = static_cast<std::size_t>(above - step_bytes.begin());
  const double left_bytes = last == 0 ? 0 : static_cast<double>(step_bytes[last - 1]);
  const double left_seconds = last == 0 ? std::min(smallest_seconds, seconds[0]) : seconds[last - 1];
  const double slope = (seconds[last] - left_seconds) / (static_cast<double>(*above) - left_bytes);
  return left_seconds + std::max(slope, 0.0) * (static_cast<double>(bytes) - left_bytes);
}

// Of a Level, or of the network of a Machine.
template <class Network>
double step_seconds(const Network& network, const StepSeconds& measured, std::size_t bytes, std::size_t messages) {
  const double smallest_seconds = std::max(network.latency_seconds + 2 * network.overhead_seconds, network.gap_seconds);
  const double further_seconds =
      (static_cast<double>(messages) - 1) * std::max(2 * network.overhead_seconds, network.gap_seconds);
  if (measured.back() > 0) return between_steps(measured, smallest_seconds, bytes) + further_seconds;
  return smallest_seconds + static_cast<double>(bytes) * network.gap_per_byte_seconds + further_seconds;
}

double writing_seconds(const Machine& machine, double bytes) {
  const bool large = bytes >= static_cast<double>(streaming_bytes) && machine.large_write_bytes_per_second > 0;
  const double rate = large ? machine.large_write_bytes_per_second : machine.write_bytes_per_second;
  return bytes / (rate > 0 ? rate : machine.memory_bytes_per_second);
}

template <class Owner>
void check_numbers(const std::string& owner_name, const Owner& owner) {
  for (const NumberField<Owner>& field : number_fields<Owner>)
    if (const double value = owner.*field.value; !field.makes_sense(value))
      refuse(owner_name + "." + std::string(field.name), value, expected(field.allowed));
  for (const StepField<Owner>& field : step_fields<Owner>)
    if (!field.makes_sense(owner.*field.seconds))
      throw ArgumentError(owner_name + "." + std::string(field.name) +
                          " has numbers that are not above 0 and finite, expected all so, or all 0");
}

}  // namespace

double Level::message_seconds(std::size_t bytes, std::size_t messages) const {
  return step_seconds(*this, ring_step_seconds, bytes, messages);
}

double Level::exchange_seconds(std::size_t bytes, std::size_t messages) const {
  return step_seconds(*this, exchange_step_seconds, bytes, messages);
}

double Machine::message_seconds(std::size_t bytes, std::size_t messages) const {
  return step_seconds(*this, ring_step_seconds, bytes, messages);
}

double Machine::exchange_seconds(std::size_t bytes, std::size_t messages) const {
  return step_seconds(*this, exchange_step_seconds, bytes, messages);
}

double Machine::native_seconds(std::size_t bytes, int ranks) const {
  if (ranks != measured_on.ranks || !(native_allreduce_seconds.back() > 0)) return 0;
  return between_steps(native_allreduce_seconds, native_allreduce_seconds[0], bytes);
}

double Machine::product_seconds(double n, double m, double K, DataType type) const {
  const auto own_kernel = static_cast<double>(visit(type, []<class T>(T) { return largest_inner_dimension<T>; }));
  const bool by_blas = blas_flops_per_second > 0 && K > own_kernel;
  const double rate = (by_blas ? blas_flops_per_second : flops_per_second) * 4 / static_cast<double>(bytes_of(type));
  const double writing = writing_seconds(*this, n * m * static_cast<double>(bytes_of(type)));
  return std::hypot(2 * K * n * m / rate, writing, 0.0);  // of three is in the header; of two wants glibc 2.35
}

// At n = m = 4000, K = 256, f32, on one core: 0.56 ns an element written, 0.54 to 0.66 ns a scattered addition
// (densities of 10 to 40 %), 0.13 ns one in a row.
double Machine::sparse_product_seconds(double elements, double scattered, double in_rows, DataType type) const {
  return (elements + scattered + in_rows / 4) * static_cast<double>(bytes_of(type)) / memory_bytes_per_second;
}

double Machine::addition_seconds(double elements, DataType type) const {
  return 3 * elements * static_cast<double>(bytes_of(type)) / memory_bytes_per_second;
}

double Machine::memory_seconds(double bytes) const {
  return bytes / memory_bytes_per_second;
}

bool Machine::operator==(const Machine& other) const {
  const auto numbers = [](const Machine& m) {
    return std::tie(m.latency_seconds, m.overhead_seconds, m.gap_seconds, m.gap_per_byte_seconds, m.piece_bytes,
                    m.flops_per_second, m.blas_flops_per_second, m.memory_bytes_per_second, m.write_bytes_per_second,
                    m.large_write_bytes_per_second, m.hidden_share, m.indexed_addition_factor, m.ring_step_seconds,
                    m.exchange_step_seconds, m.native_allreduce_seconds, m.measured_on.ranks, m.inner_levels,
                    m.winners);
  };
  return numbers(*this) == numbers(other);
}

void check_machine(const Machine& machine) {
  check_numbers("machine", machine);
  for (std::size_t i = 0; i < machine.inner_levels.size(); ++i) {
    const std::string level = "machine.inner_levels[" + std::to_string(i) + "]";
    const int nodes = machine.inner_levels[i].nodes;
    check_numbers(level, machine.inner_levels[i]);
    if (i == 0) {
      if (nodes != 1) refuse(level + ".nodes", nodes, "1: the innermost level is inside a node");
      continue;
    }
    const int before = machine.inner_levels[i - 1].nodes;
    if (nodes <= before || nodes % before != 0)
      refuse(level + ".nodes", nodes, "a multiple of the level before it, " + std::to_string(before));
  }
}

Machine default_threads_machine() {
  return {.latency_seconds = 10e-6,  // a sleeping thread is woken
          .overhead_seconds = 0.5e-6,
          .gap_seconds = 0.5e-6,
          .gap_per_byte_seconds = 0.2e-9,  // one memcpy
          .source = "default (ranks as threads)"};
}

std::string why_not_valid(const Machine& machine, int ranks, const std::vector<int>& nodes_of_ranks, int threads) {
  const int nodes =
      nodes_of_ranks.empty() ? ranks : static_cast<int>(std::set(nodes_of_ranks.begin(), nodes_of_ranks.end()).size());
  std::string text;
  const auto add = [&](const std::string& why) { text.append(text.empty() ? "" : ", ").append(why); };
  const MeasuredOn& on = machine.measured_on;
  const auto compare = [&](int now, int measured, const char* what) {
    if (now == measured || now == 0 || measured == 0) return;
    add((text.empty() ? "the machine was measured elsewhere, " : "") + std::string(what) + std::to_string(now) +
        " instead of " + std::to_string(measured));
  };
  compare(ranks, on.ranks, "ranks: ");
  compare(nodes, on.nodes, "nodes: ");
  compare(threads, on.threads, "threads a rank: ");
  if (constexpr double disturbed = 1.3; on.arithmetic_spread >= disturbed) {
    std::ostringstream spread;
    spread << std::fixed << std::setprecision(1) << on.arithmetic_spread;
    add("of the machine's rates of arithmetic or memory one was measured several times, up to " + spread.str() +
        "x apart: probably other work ran on its cores, calibrate again");
  }
  if (constexpr double wide = 0.3; on.hidden_share_spread >= wide) {
    std::ostringstream spread;
    spread << std::fixed << std::setprecision(2) << "the machine's hidden_share, " << machine.hidden_share
           << ", was measured several times, up to " << on.hidden_share_spread
           << " apart: calibrate again, on quiet cores";
    add(spread.str());
  }
  for (std::size_t i = 1; i < machine.inner_levels.size(); ++i)
    if (const int joined = machine.inner_levels[i].nodes; nodes > 1 && joined >= nodes)
      add("inner_levels[" + std::to_string(i) + "] joins " + std::to_string(joined) + " nodes, and there are " +
          std::to_string(nodes) + ": the network beyond is not used");
  return text;
}

}  // namespace dsop
