// What MPI calls the element types.
#pragma once

#include <mpi.h>

namespace dsop {

template <class T>
MPI_Datatype mpi_type() = delete;
template <>
inline MPI_Datatype mpi_type<float>() {
  return MPI_FLOAT;
}
template <>
inline MPI_Datatype mpi_type<double>() {
  return MPI_DOUBLE;
}

}  // namespace dsop
