// What ranks over MPI tell each other before they send messages.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <dsop/transport.hpp>

#include "transport/mpi_collectives.hpp"

namespace dsop {

struct MpiMeeting {
  MPI_Comm communicator;  ///< a duplicate
  std::unique_ptr<MpiCollectives> collectives;
  std::vector<int> nodes = {};  ///< of all ranks, each by the lowest rank on it
  Endpoint endpoint = {};
};

/// Throws TransportError on all ranks if their versions are not one.
MpiMeeting meet_over_mpi(MPI_Comm communicator, std::size_t largest_piece_bytes, const std::string& version);

}  // namespace dsop
