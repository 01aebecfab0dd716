#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "host.hpp"

namespace dsop::bench {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

bool is_simulated() {
  return false;
}

nlohmann::ordered_json simulation_facts() {
  return nullptr;
}

}  // namespace dsop::bench
