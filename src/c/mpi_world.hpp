// The part of MPI that C programs see; in a build without MPI there is none.
#pragma once

#include <dsop/transport.hpp>

namespace dsop::c {

/// Between MPI_Init and MPI_Finalize.
bool mpi_runs();
/// After MPI_Finalize.
bool mpi_has_ended() noexcept;
/// Where a launcher has started this process and nobody has started MPI: with MPI_THREAD_MULTIPLE.
void start_mpi();
/// If start_mpi() has started it.
void end_mpi();
[[noreturn]] void end_all_ranks(int exit_status);
/// Of MPI_COMM_WORLD; null where MPI does not run.
Transport* world();
/// Throws ArgumentError if there is no such communicator.
Transport& transport_of_mpi(int fint);

}  // namespace dsop::c
