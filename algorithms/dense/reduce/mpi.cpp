// The MPI library's own MPI_Reduce. Which algorithm it picks can't be known here; the cost is that of the bidirectional
// exchange.
#include "algorithms/dense/algorithm.hpp"

namespace dsop::dense {

DenseAlgorithm reduce_bidirectional_exchange();
DenseAlgorithm mpi();

namespace {

template <class T>
void run(DenseCall<T>& call) {
  call.transport.native().reduce(std::as_writable_bytes(call.data), data_type<T>, call.root);
}

}  // namespace

DenseAlgorithm reduce_mpi() {
  return {.name = "mpi",
          .summary = "the MPI library's own MPI_Reduce, the usual baseline",
          .source = "MPI standard, MPI_Reduce",
          .native = true,
          .unsupported = mpi().unsupported,
          .cost = reduce_bidirectional_exchange().cost,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
