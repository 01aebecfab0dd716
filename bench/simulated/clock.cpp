#include "clock.hpp"

#include <mpi.h>

#include "simulation.hpp"

namespace dsop::bench {

double clock_seconds() {
  return MPI_Wtime();
}

nlohmann::ordered_json simulation_facts() {
  return simulated::simulation().facts;
}

}  // namespace dsop::bench
