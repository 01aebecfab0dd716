#pragma once

#include <string>

namespace dsop {

/// Whether functions of MPI can be called. In a build that links a library: always. In one with plug-ins: from
/// open_mpi() on, and where this process has loaded a library, as mpi4py does.
bool mpi_is_open();

/// To be called before the others. Throws ArgumentError where there is no library or no plug-in for it; in a build that
/// links one, where that is not of the kind that it was built for. Where a process has loaded two, the first answers
/// calls of both, and takes the other's communicators for addresses of its own.
void open_mpi();

/// The name and the version of the MPI library that runs, one line; "none" where MPI is not open.
std::string mpi_library();

/// Whether that library's MPI_Allreduce and MPI_Reduce are known to add in the same order in each call, so that sums
/// have the same bits from call to call. MPICH 5's have not: 5 and 8 ranks of one node, f32.
bool sums_have_same_bits(const std::string& library);

/// Whether the root of MPI_Reduce may give MPI_IN_PLACE in that library. Where it is not rank 0, MPICH from 3.3
/// to 4.1.1 reads from that address above 2 KiB and crashes (its issue 6540).
bool reduces_in_place(const std::string& library);

/// Throws ArgumentError if this process was started by another MPI's launcher, with others: MPI, which runs, takes each
/// for a job of its own, and for rank 0 of 1.
void check_mpi_launcher();

}  // namespace dsop
