// Who has come to a call: asked and answered by messages, so that a rank that does nothing gives no answer.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include <dsop/transport.hpp>

namespace dsop {

/// A rank that waits answers those who ask with how far it has come, a number that never falls: an old answer may say
/// too little, but never anything wrong. Nobody asks a rank again that has not answered yet, so a rank that comes late,
/// or never, has one question of each other rank to find, however often it was missed.
class RollCall {
 public:
  /// The communicator must outlive it.
  explicit RollCall(MPI_Comm communicator);
  RollCall(const RollCall&) = delete;
  ~RollCall();

  /// Tells those who have asked that this rank is at `position`.
  void answer(std::uint64_t position);
  /// Asks all others, and answers them too, for up to `seconds`. Returns those who are not known to have come to
  /// `position`.
  std::vector<int> ranks_behind(std::uint64_t position, double seconds);
  /// Whether some rank may still have a question to find.
  bool has_open_questions() const;

 private:
  struct Peer {
    std::uint64_t position = 0;  // at least
    bool asked = false;          // and has not answered
    MPI_Request question = MPI_REQUEST_NULL;
    MPI_Request answer = MPI_REQUEST_NULL;
    std::uint64_t answered_position = 0;
  };

  void ask_those_behind(std::uint64_t position);
  void take_answers();
  bool is_behind(std::size_t rank, std::uint64_t position) const;

  MPI_Comm communicator_;
  int rank_ = 0;
  std::vector<Peer> peers_;
};

}  // namespace dsop
