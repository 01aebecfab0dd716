// The MPI library's own MPI_Bcast. Which algorithm it picks can't be known here; the cost is that of the bidirectional
// exchange.
#include "algorithms/dense/algorithm.hpp"

namespace dsop::dense {

DenseAlgorithm broadcast_bidirectional_exchange();
DenseAlgorithm mpi();

namespace {

template <class T>
void run(DenseCall<T>& call) {
  call.transport.native().broadcast(std::as_writable_bytes(call.data), call.root);
}

}  // namespace

DenseAlgorithm broadcast_mpi() {
  return {.name = "mpi",
          .summary = "the MPI library's own MPI_Bcast, the usual baseline",
          .source = "MPI standard, MPI_Bcast",
          .native = true,
          .unsupported = mpi().unsupported,
          .cost = broadcast_bidirectional_exchange().cost,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
