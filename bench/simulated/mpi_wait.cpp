// Simulated time passes while a rank waits, not while it tests; nobody is watched.
#include "transport/mpi_transport.hpp"

namespace dsop {

int MpiTransport::wait_for_pieces(Operation& operation) {
  return MPI_Waitall(static_cast<int>(operation.pieces.size()), operation.pieces.data(), operation.statuses.data());
}

}  // namespace dsop
