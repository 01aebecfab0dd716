#include "base/host_name.hpp"

#include <nlohmann/json.hpp>

#include "host.hpp"

namespace dsop::bench {

std::string host_name() {
  return dsop::host_name();
}

bool is_simulated() {
  return false;
}

nlohmann::ordered_json simulation_facts() {
  return nullptr;
}

}  // namespace dsop::bench
