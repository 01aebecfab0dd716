#pragma once

#include <mpi.h>

namespace dsop {

/// Whether what MPI_Comm_f2c made of a number may be a communicator. MPI can't be asked anything of one that is none:
/// Open MPI makes null of it; MPICH, whose numbers hold what kind of object they stand for, would end the program.
inline bool may_be_communicator(MPI_Comm found) {
#ifdef MPICH_NUMVERSION
  constexpr int kind_of_object = 0x3c000000;
  return (found & kind_of_object) == (MPI_COMM_WORLD & kind_of_object);
#else
  return found != MPI_Comm{};
#endif
}

}  // namespace dsop
