// A roll call's questions and answers over MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/roll_call.hpp"

namespace dsop {

class MpiRollCall {
 public:
  /// The communicator must outlive it.
  MpiRollCall(MPI_Comm communicator, int rank, int ranks);
  MpiRollCall(const MpiRollCall&) = delete;
  ~MpiRollCall();

  /// Tells those who have asked that this rank is at `position`.
  void answer(std::uint64_t position);
  /// Asks all others, and answers them too, for up to `seconds`. Returns those who are not known to have come to
  /// `position`.
  std::vector<int> ranks_behind(std::uint64_t position, double seconds);
  bool has_open_questions() const { return known_.has_open_questions(); }

 private:
  struct Answer {
    MPI_Request request = MPI_REQUEST_NULL;
    std::uint64_t position = 0;
  };

  void take_answers();

  MPI_Comm communicator_;
  RollCall known_;
  std::vector<Answer> answers_;  // the last to each rank
};

}  // namespace dsop
