#include "transport/mpi_roll_call.hpp"

#include <memory>
#include <optional>
#include <utility>

#include <dsop/transport.hpp>

#include "transport/mpi_pieces.hpp"

namespace dsop {
namespace {

constexpr int question_tag = static_cast<int>(Tag::roll_call);
constexpr int answer_tag = static_cast<int>(Tag::roll_call_answer);

// The rank from which a message with this tag has come, if there is one.
std::optional<int> sender(MPI_Comm communicator, int tag) {
  int found = 0;
  MPI_Status status;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, communicator, &found, &status), "MPI_Iprobe");
  return found != 0 ? std::optional(status.MPI_SOURCE) : std::nullopt;
}

}  // namespace

MpiRollCall::MpiRollCall(MPI_Comm communicator, int rank, int ranks)
    : communicator_(communicator), known_(rank, ranks), answers_(static_cast<std::size_t>(ranks)) {}

MpiRollCall::~MpiRollCall() {
  bool is_under_way = false;
  for (Answer& answer : answers_) {
    int done = 0;
    MPI_Test(&answer.request, &done, MPI_STATUS_IGNORE);
    if (done != 0) continue;
    MPI_Request_free(&answer.request);
    is_under_way = true;
  }
  // To wait for such a message might be for ever, and until it has gone MPI may read it: its memory is given up.
  if (is_under_way) std::make_unique<std::vector<Answer>>(std::move(answers_)).release();
}

void MpiRollCall::answer(std::uint64_t position) {
  while (const std::optional<int> rank = sender(communicator_, question_tag)) {
    check_mpi(MPI_Recv(nullptr, 0, MPI_BYTE, *rank, question_tag, communicator_, MPI_STATUS_IGNORE), "MPI_Recv");
    Answer& answer = answers_[static_cast<std::size_t>(*rank)];
    check_mpi(MPI_Wait(&answer.request, MPI_STATUS_IGNORE), "MPI_Wait");  // it has had it: it asks again
    answer.position = position;
    check_mpi(MPI_Isend(&answer.position, 1, MPI_UINT64_T, *rank, answer_tag, communicator_, &answer.request),
              "MPI_Isend");
  }
}

void MpiRollCall::take_answers() {
  while (const std::optional<int> rank = sender(communicator_, answer_tag)) {
    std::uint64_t position = 0;
    check_mpi(MPI_Recv(&position, 1, MPI_UINT64_T, *rank, answer_tag, communicator_, MPI_STATUS_IGNORE), "MPI_Recv");
    known_.take_answer(*rank, position);
  }
}

std::vector<int> MpiRollCall::ranks_behind(std::uint64_t position, double seconds) {
  const auto ask = [this](int rank) {
    MPI_Request question = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, rank, question_tag, communicator_, &question), "MPI_Isend");
    MPI_Request_free(&question);  // it has no memory that MPI could read later
  };
  return known_.ranks_behind(position, seconds, ask, [&] {
    answer(position);
    take_answers();
  });
}

}  // namespace dsop
