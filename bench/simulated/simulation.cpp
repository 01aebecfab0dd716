#include "simulation.hpp"

#define SMPI_NO_OVERRIDE_MALLOC
#include <simgrid/host.h>
#include <smpi/smpi.h>

#include <cstdlib>

#include <dsop/errors.hpp>

namespace dsop::simulated {
namespace {

Simulation read() {
  const char* const text = std::getenv("DSOP_SIMULATION");
  if (text == nullptr) throw Error("DSOP_SIMULATION is not set: start this program with scripts/simulate");
  Simulation simulation;
  simulation.facts = nlohmann::ordered_json::parse(text);
  simulation.machine.flops_per_second = simulation.facts.at("flops_per_second");
  simulation.machine.memory_bytes_per_second = simulation.facts.at("memory_bytes_per_second");
  simulation.selector = simulation.facts.at("selector");
  simulation.folded = simulation.facts.at("folded");
  return simulation;
}

}  // namespace

const Simulation& simulation() {
  static const Simulation simulation = read();
  return simulation;
}

void charge(double seconds) {
  smpi_execute_benched(seconds);
}

void charge_within_mpi(double seconds) {
  smpi_execute_flops(seconds * sg_host_get_speed(sg_host_self()));
}

}  // namespace dsop::simulated
