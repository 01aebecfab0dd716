#include "clock.hpp"

#include <chrono>

namespace dsop::bench {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

nlohmann::ordered_json simulation_facts() {
  return nullptr;
}

}  // namespace dsop::bench
