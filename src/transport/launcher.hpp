#pragma once

namespace dsop {

/// Whether an MPI launcher (mpirun, srun --mpi) has started this process.
bool under_mpi_launcher();

}  // namespace dsop
