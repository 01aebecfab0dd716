// What the environment tells about who has started this process.
#pragma once

#include <optional>
#include <string>

namespace dsop {

/// Whether an MPI launcher (mpirun, srun --mpi) has started this process; not where one has started torchrun.
bool under_mpi_launcher();

/// A process that something other than an MPI launcher has started, with others.
struct StartedProcess {
  int rank;
  int ranks;          ///< at least 2
  std::string names;  ///< of the variables that say so: "RANK and WORLD_SIZE"

  /// "RANK and WORLD_SIZE say that this process is rank 0 of 2, and no MPI launcher has started it"
  std::string text() const;
};

/// As torchrun, deepspeed and many scripts tell it, or else Slurm's srun without --mpi. Empty where this process is
/// alone, or an MPI launcher has started it.
std::optional<StartedProcess> started_without_mpi();

}  // namespace dsop
