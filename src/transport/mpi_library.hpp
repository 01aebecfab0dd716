#pragma once

#include <string>

namespace dsop {

/// The name and the version of the MPI library that runs, one line; "none" in a build without MPI.
std::string mpi_library();

}  // namespace dsop
