// Open MPI's MPI_Allreduce with one of its algorithms forced, chosen while the program runs.
#pragma once

#include <memory>
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

/// Open MPI's name of the allreduce algorithm that this process ran last, as seen from inside; "none" for one rank.
std::string openmpi_algorithm_that_ran();

/// Forgets it.
void forget_openmpi_algorithm();

}  // namespace dsop::bench::compare
