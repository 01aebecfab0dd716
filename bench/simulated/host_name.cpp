#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Host.hpp>

#include "host.hpp"
#include "simulation.hpp"

namespace dsop::bench {

std::string host_name() {
  return simgrid::s4u::this_actor::get_host()->get_name();
}

bool is_simulated() {
  return true;
}

nlohmann::ordered_json simulation_facts() {
  return simulated::simulation().facts;
}

}  // namespace dsop::bench
