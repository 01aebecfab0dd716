// The MPI library's own MPI_Allreduce: what programs call today, and so the base that everything is compared with.
// Which algorithm the library picks can't be known here; the cost is that of Rabenseifner's, which both Open MPI 4.1
// and MPICH take for long vectors.
#include "algorithms/dense/algorithm.hpp"

namespace dsop::dense {

DenseAlgorithm rabenseifner();

namespace {

template <class T>
void run(DenseCall<T>& call) {
  call.transport.native_allreduce(std::as_writable_bytes(call.data), data_type<T>);
}

std::string unsupported(const DenseProblem& problem) {
  return problem.native_collectives ? "" : "runs inside the MPI library, and these ranks do not use MPI";
}

Cost cost(const DenseProblem& problem, const Machine& machine, double) {
  return rabenseifner().cost(problem, machine, 0);
}

}  // namespace

DenseAlgorithm mpi() {
  return {.name = "mpi",
          .summary = "the MPI library's own MPI_Allreduce, the usual baseline",
          .source = "MPI standard, MPI_Allreduce",
          .native = true,
          .unsupported = unsupported,
          .cost = cost,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
