// What ranks tell each other before they send messages.

#include <array>

#include "base/version.hpp"
#include "transport/mpi_transport.hpp"

namespace dsop {
namespace {

MPI_Comm duplicate_of(MPI_Comm communicator) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(communicator, &duplicate), "MPI_Comm_dup");
  return duplicate;
}

int lowest_rank_on_node(MPI_Comm communicator, int rank) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  int lowest = rank;
  const int code = MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  check_mpi(code, "MPI_Bcast");
  return lowest;
}

}  // namespace

struct MpiTransport::Meeting {
  MPI_Comm communicator;  // a duplicate
  std::unique_ptr<MpiCollectives> collectives;
  std::vector<int> nodes = {};
  Endpoint endpoint = {};
};

MpiTransport::Meeting MpiTransport::meet(MPI_Comm communicator, std::size_t largest_piece_bytes,
                                         const std::string& version) {
  MPI_Comm own_communicator = duplicate_of(communicator);
  MPI_Comm_set_errhandler(own_communicator, MPI_ERRORS_RETURN);
  Meeting met{own_communicator, std::make_unique<MpiCollectives>(own_communicator, largest_piece_bytes)};
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(own_communicator, &rank);
  MPI_Comm_size(own_communicator, &size);
  struct Introduction {
    int node = 0;
    std::array<char, 60> version{};
  } own{.node = lowest_rank_on_node(own_communicator, rank)};
  version.copy(own.version.data(), own.version.size() - 1);
  std::vector<Introduction> all(static_cast<std::size_t>(size));
  check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, own_communicator),
            "MPI_Allgather");
  std::vector<std::string> versions;
  for (const Introduction& other : all) {
    met.nodes.push_back(other.node);
    versions.emplace_back(other.version.data());
  }
  try {
    expect_one_version(versions);
  } catch (...) {
    MPI_Comm_free(&own_communicator);
    throw;
  }
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  const auto kind = std::make_shared<TransportKind>();  // member by member: g++ 12 warns of copies of an aggregate
  kind->name = "mpi";
  kind->is_probed = true;
  kind->allows_progress_thread = level == MPI_THREAD_MULTIPLE;
  met.endpoint = {.rank = rank, .size = size, .node = own.node, .kind = kind, .native = met.collectives.get()};
  return met;
}

MpiTransport::MpiTransport(MPI_Comm communicator, std::size_t largest_piece_bytes, const std::string& version)
    : MpiTransport(meet(communicator, largest_piece_bytes, version), largest_piece_bytes) {}

MpiTransport::MpiTransport(Meeting meeting, std::size_t largest_piece_bytes)
    : Transport(std::move(meeting.endpoint)),
      communicator_(meeting.communicator),
      largest_piece_bytes_(largest_piece_bytes),
      nodes_(std::move(meeting.nodes)),
      collectives_(std::move(meeting.collectives)),
      roll_call_(rank(), size()),
      answers_(nodes_.size()) {
  use_pieces_of(Machine());
}

}  // namespace dsop
