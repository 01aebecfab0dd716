// Ranks are those of smpirun, all in one process with one environment.
#include <simgrid/s4u/Actor.hpp>

#include <string_view>

#include "launch/launch.hpp"

namespace dsop::launch {

bool under_mpi_launcher() {
  return true;
}

bool is_reporting_process() {
  const char* const rank = simgrid::s4u::Actor::self()->get_property("rank");
  return rank != nullptr && std::string_view(rank) == "0";
}

}  // namespace dsop::launch
