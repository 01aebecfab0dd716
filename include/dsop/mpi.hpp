// MPI communicators: dsop::dsop(MPI_COMM_WORLD, ...).
#pragma once

#include <mpi.h>

#include <dsop/dsop.hpp>

namespace dsop {

/// The communicator is duplicated on first use and the duplicate is kept as an attribute of it, so messages never meet
/// the program's own; it is freed with the communicator, or in MPI_Finalize. MPI must be initialised, by the program,
/// with at least MPI_THREAD_FUNNELED when OpenMP is used. Throws ArgumentError for MPI_COMM_NULL, an inter-communicator
/// or a call outside MPI_Init .. MPI_Finalize. Errors of MPI on the duplicate throw TransportError; the duplication
/// itself goes by the communicator's own error handler.
template <>
struct TransportOf<MPI_Comm> {
  static Transport& get(MPI_Comm communicator);
};

}  // namespace dsop
