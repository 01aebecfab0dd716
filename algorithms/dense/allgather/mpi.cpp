// The MPI library's own MPI_Allgatherv. Which algorithm it picks can't be known here: the cost is the ring's, whatever
// it takes.
#include "algorithms/dense/allgather.hpp"

namespace dsop::dense {

AllgatherAlgorithm allgather_ring();

namespace {

void run(AllgatherCall& call) {
  call.transport.native().allgather(call.data, call.problem.bounds_bytes);
}

std::string unsupported(const AllgatherProblem& problem) {
  return problem.group.native ? "" : "runs inside the MPI library, and these ranks do not use MPI";
}

}  // namespace

AllgatherAlgorithm allgather_mpi() {
  const AllgatherAlgorithm ring = allgather_ring();
  return {.name = "mpi",
          .summary = "by the MPI library's own MPI_Allgatherv",
          .source = "MPI standard, MPI_Allgatherv",
          .native = true,
          .unsupported = unsupported,
          .sent = ring.sent,
          .seconds = ring.seconds,
          .run = run};
}

}  // namespace dsop::dense
