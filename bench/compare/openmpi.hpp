// Open MPI's MPI_Allreduce and MPI_Allgather with one of its algorithms forced, chosen while the program runs.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <dsop/transport.hpp>

namespace dsop::bench::compare {

/// Lets later communicators have an algorithm forced on them: Open MPI looks at this once, in MPI_Init, so it must be
/// called before. Sets an environment variable of this process unless the user has set it.
void let_openmpi_be_forced();

/// Why forcing is impossible over this transport, or "".
std::string openmpi_unavailable(const Transport& transport);

/// The ranks of MPI_COMM_WORLD again, with a communicator whose MPI_Allreduce is bound to algorithm `number` of Open
/// MPI's parameter coll_tuned_allreduce_algorithm. Which one really runs depends on the call: Open MPI falls back
/// without a word.
std::unique_ptr<Transport> openmpi_forced_to(int number);

/// Gathers P equal blocks, of which rank r has block r, on all ranks, in place. Throws ArgumentError on every rank when
/// a block is longer than MPI_Allgather can count.
using OpenMpiAllgather = std::function<void(std::span<std::byte> blocks)>;

/// MPI_Allgather on the ranks of MPI_COMM_WORLD, bound to algorithm `number` of coll_tuned_allgather_algorithm. All
/// ranks make and destroy it.
OpenMpiAllgather openmpi_allgather_forced_to(int number);

/// Open MPI's name of the algorithm that this process ran last in an allreduce or allgather, as seen from inside;
/// "none" for one rank.
std::string openmpi_algorithm_that_ran();

/// Forgets it.
void forget_openmpi_algorithm();

}  // namespace dsop::bench::compare
