#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include <dsop/transport.hpp>

#include "launch/launch.hpp"
#include "launch/readable_file.hpp"

namespace dsop::launch {

/// run() over MPI_COMM_WORLD, from MPI_Init to MPI_Finalize. In a build without MPI: an error message and 1.
int run_on_mpi_world(std::optional<int> ranks, const std::function<void(Transport&)>& body, ThreadLevel level);

/// Within a handler: prints what `rank` has thrown, on rank 0 alone if all ranks have. Returns whether they have.
bool print_caught(int rank);

/// For this rank to read through MPI-IO, between MPI_Init and MPI_Finalize. Throws Error naming the file if it can't be
/// opened, and in a build without MPI.
std::unique_ptr<ReadableFile> open_by_mpi(const std::filesystem::path& path);

}  // namespace dsop::launch
