// Simulated time passes while a rank waits, not while it tests; nobody is watched, no message is cut.
#include "transport/mpi_transport.hpp"

namespace dsop {

const bool cuts_messages = false;

// SimGrid's MPI_Request_get_status calls every request done. MPI_Test knows, but ends what it finds done: so the status
// is kept for finish().
bool MpiTransport::pieces_are_done(Message& message) {
  message.statuses.resize(message.pieces.size());
  for (std::size_t i = 0; i < message.pieces.size(); ++i) {
    if (message.pieces[i] == MPI_REQUEST_NULL) continue;
    int done = 0;
    check_mpi(MPI_Test(&message.pieces[i], &done, &message.statuses[i]), "MPI_Test");
    if (done == 0) return false;
  }
  return true;
}

int MpiTransport::wait_for_pieces(Message& message) {
  int code = MPI_SUCCESS;
  message.statuses.resize(message.pieces.size());
  for (std::size_t i = 0; i < message.pieces.size() && code == MPI_SUCCESS; ++i)
    if (message.pieces[i] != MPI_REQUEST_NULL) code = MPI_Wait(&message.pieces[i], &message.statuses[i]);
  return code;
}

}  // namespace dsop
