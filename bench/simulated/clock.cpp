// Simulated time, the same on all ranks.
#include "clock.hpp"

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>

namespace dsop::bench {

double now_seconds() {
  return simgrid::s4u::Engine::get_clock();
}

void wait_until(double seconds) {
  simgrid::s4u::this_actor::sleep_until(seconds);
}

}  // namespace dsop::bench
