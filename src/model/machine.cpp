#include <dsop/machine.hpp>

#include <algorithm>
#include <tuple>

#include <dsop/problem.hpp>

namespace dsop {

double Machine::message_seconds(std::size_t bytes) const {
  return std::max(latency_seconds + 2 * overhead_seconds, gap_seconds) +
         static_cast<double>(bytes) * gap_per_byte_seconds;
}

double Machine::independent_messages_seconds(std::size_t messages, std::size_t bytes) const {
  if (messages == 0) return 0;
  return message_seconds(bytes) + static_cast<double>(messages - 1) * std::max(2 * overhead_seconds, gap_seconds);
}

double Machine::product_seconds(double n, double m, double K, DataType type) const {
  const double rate = flops_per_second * 4 / static_cast<double>(bytes_of(type));
  return n * m * static_cast<double>(bytes_of(type)) / memory_bytes_per_second + 2 * K * n * m / rate;
}

double Machine::addition_seconds(double elements, DataType type) const {
  return 3 * elements * static_cast<double>(bytes_of(type)) / memory_bytes_per_second;
}

double Machine::memory_seconds(double bytes) const {
  return bytes / memory_bytes_per_second;
}

bool Machine::operator==(const Machine& other) const {
  const auto numbers = [](const Machine& m) {
    return std::tie(m.latency_seconds, m.overhead_seconds, m.gap_seconds, m.gap_per_byte_seconds, m.flops_per_second,
                    m.memory_bytes_per_second);
  };
  return numbers(*this) == numbers(other);
}

Machine default_threads_machine() {
  return {.latency_seconds = 10e-6,  // a sleeping thread is woken
          .overhead_seconds = 0.5e-6,
          .gap_seconds = 0.5e-6,
          .gap_per_byte_seconds = 0.2e-9,  // one memcpy
          .source = "default (ranks as threads)"};
}

}  // namespace dsop
