#pragma once

#include <string>

namespace dsop {

/// The name and the version of the MPI library that runs, one line; "none" in a build without MPI.
std::string mpi_library();

/// Throws ArgumentError if that is not of the kind that dsop is built for. Where a process has loaded two, the first
/// answers calls of both, and takes the other's communicators for addresses of its own.
void check_mpi_library();

/// Throws ArgumentError if this process was started by another MPI's launcher, with others: MPI, which runs, takes each
/// for a job of its own, and for rank 0 of 1.
void check_mpi_launcher();

}  // namespace dsop
