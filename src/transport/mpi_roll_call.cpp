#include "transport/mpi_roll_call.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "transport/look_for_ranks.hpp"
#include "transport/mpi_transport.hpp"

namespace dsop {
namespace {

// The rank from which a message with this tag has come, if there is one.
std::optional<int> sender(MPI_Comm communicator, Tag tag) {
  int found = 0;
  MPI_Status status;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, static_cast<int>(tag), communicator, &found, &status), "MPI_Iprobe");
  return found != 0 ? std::optional(status.MPI_SOURCE) : std::nullopt;
}

}  // namespace

RollCall::RollCall(MPI_Comm communicator) : communicator_(communicator) {
  int size = 1;
  MPI_Comm_rank(communicator, &rank_);
  MPI_Comm_size(communicator, &size);
  peers_.resize(static_cast<std::size_t>(size));
}

RollCall::~RollCall() {
  bool is_under_way = false;
  for (Peer& peer : peers_)
    for (MPI_Request* const message : {&peer.question, &peer.answer}) {
      int done = 0;
      MPI_Test(message, &done, MPI_STATUS_IGNORE);
      if (done != 0) continue;
      MPI_Request_free(message);
      is_under_way = true;
    }
  // To wait for such a message might be for ever, and until it has gone MPI may read it: its memory is given up.
  if (is_under_way) std::make_unique<std::vector<Peer>>(std::move(peers_)).release();
}

void RollCall::answer(std::uint64_t position) {
  while (const std::optional<int> rank = sender(communicator_, Tag::roll_call)) {
    check_mpi(MPI_Recv(nullptr, 0, MPI_BYTE, *rank, static_cast<int>(Tag::roll_call), communicator_, MPI_STATUS_IGNORE),
              "MPI_Recv");
    Peer& peer = peers_[static_cast<std::size_t>(*rank)];
    check_mpi(MPI_Wait(&peer.answer, MPI_STATUS_IGNORE), "MPI_Wait");  // it has had it: it asks again
    peer.answered_position = position;
    check_mpi(MPI_Isend(&peer.answered_position, 1, MPI_UINT64_T, *rank, static_cast<int>(Tag::roll_call_answer),
                        communicator_, &peer.answer),
              "MPI_Isend");
  }
}

std::vector<int> RollCall::ranks_behind(std::uint64_t position, double seconds) {
  return look_for_ranks(seconds, [&] {
    answer(position);
    take_answers();
    ask_those_behind(position);
    std::vector<int> behind;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank)
      if (is_behind(rank, position)) behind.push_back(static_cast<int>(rank));
    return behind;
  });
}

bool RollCall::has_open_questions() const {
  return std::ranges::any_of(peers_, &Peer::asked);
}

void RollCall::take_answers() {
  while (const std::optional<int> rank = sender(communicator_, Tag::roll_call_answer)) {
    Peer& peer = peers_[static_cast<std::size_t>(*rank)];
    check_mpi(MPI_Recv(&peer.position, 1, MPI_UINT64_T, *rank, static_cast<int>(Tag::roll_call_answer), communicator_,
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
    peer.asked = false;
  }
}

void RollCall::ask_those_behind(std::uint64_t position) {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    Peer& peer = peers_[rank];
    if (peer.asked || !is_behind(rank, position)) continue;
    check_mpi(MPI_Wait(&peer.question, MPI_STATUS_IGNORE), "MPI_Wait");  // it has been answered
    check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, static_cast<int>(rank), static_cast<int>(Tag::roll_call), communicator_,
                        &peer.question),
              "MPI_Isend");
    peer.asked = true;
  }
}

bool RollCall::is_behind(std::size_t rank, std::uint64_t position) const {
  return static_cast<int>(rank) != rank_ && peers_[rank].position < position;
}

}  // namespace dsop
