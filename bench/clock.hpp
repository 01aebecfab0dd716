// The time that is measured: the machine's, or a simulation's.
#pragma once

#include <nlohmann/json.hpp>

namespace dsop::bench {

/// Seconds since some fixed moment.
double clock_seconds();

/// What is simulated and how; null where time is real.
nlohmann::ordered_json simulation_facts();

}  // namespace dsop::bench
