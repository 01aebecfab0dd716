#pragma once

#include <functional>
#include <optional>
#include <string>

#include <dsop/transport.hpp>

#include "launch/launch.hpp"

namespace dsop::launch {

/// run() over MPI_COMM_WORLD, from MPI_Init to MPI_Finalize. In a build without MPI: an error message and 1.
int run_on_mpi_world(std::optional<int> ranks, const std::function<void(Transport&)>& body, ThreadLevel level);

/// One line, or "none" in a build without MPI.
std::string mpi_library();

}  // namespace dsop::launch
