// The simulation that this process is: what scripts/simulate has set up, and how simulated time passes.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

#include <dsop/machine.hpp>

namespace dsop::simulated {

struct Simulation {
  nlohmann::ordered_json facts;  ///< platform, selector, latency_factors, placement, rates, folded, simgrid
  Machine machine;               ///< the rates that arithmetic is charged at; nothing else of it is meant
  std::string selector;
  bool folded;  ///< large memory is shared by all ranks, holds anything, and its bytes are never moved
};

/// Read once a rank from the environment variable DSOP_SIMULATION, a JSON object. Throws Error if there is none.
const Simulation& simulation();

/// Lets so many simulated seconds pass on this rank's host.
void charge(double seconds);
/// The same from inside an MPI call, such as a reduction operator.
void charge_within_mpi(double seconds);

/// sum[i] = left[i] + right[i], for nothing.
template <class T>
void add_elements(T* sum, const T* left, const T* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

/// Memory from this size on is folded.
inline constexpr std::size_t folded_from_bytes = 256 * 1024;

}  // namespace dsop::simulated
