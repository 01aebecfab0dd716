#pragma once

namespace dsop {

/// Whether an MPI launcher (mpirun, srun --mpi) has started this process.
bool under_mpi_launcher();

/// How many processes it has started together, by its own word; 0 where it says nothing.
int launched_ranks();

}  // namespace dsop
