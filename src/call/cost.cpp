// What an algorithm costs.
#include <dsop/plan.hpp>

#include <algorithm>

#include <dsop/counting.hpp>

namespace dsop {

void Cost::raise_to(const Traffic& rank) {
  messages = std::max(messages, rank.messages);
  bytes = std::max(bytes, rank.bytes);
}

double Cost::idle_seconds(const Machine& machine) const {
  const double busy_seconds = 2 * static_cast<double>(messages) * machine.overhead_seconds +
                              machine.memory_seconds(2 * static_cast<double>(bytes));
  return std::max(communication_seconds - busy_seconds, 0.0);
}

void Cost::hide(double share, double seconds, const Machine& machine) {
  hide(share * std::min(idle_seconds(machine), seconds), machine);
}

void Cost::hide(double seconds, const Machine& machine) {
  communication_seconds -= machine.hidden_share * seconds;
  hidden_seconds += machine.hidden_share * seconds;
}

}  // namespace dsop
