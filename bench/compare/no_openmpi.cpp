// For a build whose MPI is not Open MPI 4 or 5, or that has none.
#include "compare/openmpi.hpp"
#include "transport/mpi_library.hpp"

namespace dsop::bench::compare {

void let_openmpi_be_forced() {}

std::string openmpi_unavailable(const Transport&) {
  return "needs a build with Open MPI 4 or 5, and this one's MPI is " + mpi_library();
}

std::unique_ptr<Transport> openmpi_forced_to(int) {
  return nullptr;
}

OpenMpiAllgather openmpi_allgather_forced_to(int) {
  return {};
}

std::string openmpi_algorithm_that_ran() {
  return "none";
}

void forget_openmpi_algorithm() {}

}  // namespace dsop::bench::compare
