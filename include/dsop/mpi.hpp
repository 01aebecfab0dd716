// MPI communicators: dsop::dsop(MPI_COMM_WORLD, ...).
#pragma once

#include <mpi.h>

#include <dsop/dsop.hpp>

namespace dsop {

/// The communicator is duplicated on first use and the duplicate is kept as an attribute of it, so messages never meet
/// the program's own; it is freed with the communicator, or in MPI_Finalize. MPI must be initialised, by the program,
/// with at least MPI_THREAD_FUNNELED when OpenMP is used. Errors of MPI throw TransportError.
template <>
struct TransportOf<MPI_Comm> {
  static Transport& get(MPI_Comm communicator);
};

}  // namespace dsop
