// Calls that wait too long, and for whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <dsop/problem.hpp>

namespace dsop {

/// A call that has waited longer than it should, as one of the waiting ranks sees it.
struct Stall {
  /// "outer product", "sharded outer product", "outer product's rows", "preparing an outer product"; "allreduce",
  /// "broadcast", "reduce"; "sparse allreduce", "top-k allreduce"; "making a synchronizer", "registering a parameter",
  /// "changing a parameter's policy", "the end of a synchronizer's step", "loading a synchronizer's state";
  /// "asking for the machine", "measuring the machine" (which is within another); or "messages between calls".
  std::string operation;
  std::size_t rows = 0;     ///< of the gradient, or the elements of a vector; 0: neither
  std::size_t columns = 0;  ///< of the gradient; 1 for a vector, k for a top-k allreduce
  DataType type = DataType::f32;
  std::uint64_t call = 0;  ///< how many calls the communicator has seen before this one
  int rank = 0;            ///< that waits
  double waited_seconds = 0;
  /// Those that have not come to the call. Over MPI and TCP also those that have, but did not answer: they are within
  /// arithmetic or MPI's own collectives, or stopped.
  std::vector<int> missing_ranks = {};

  /// All of it in one sentence.
  std::string text() const;
};

/// What is done about calls that wait. Time counts from the start of each wait for a message, so a long call whose
/// messages keep coming is no stall. Inside the MPI library's own collectives (`mpi` of any family, `allreduce-mpi`,
/// `allgather-mpi`, `dense-mpi`) a rank waits in MPI and is not watched; nor is it in the first use of an MPI
/// communicator, which duplicates it, splits it by node and gathers.
struct StallWatch {
  double limit_seconds = 60;  ///< 0: never
  /// Called once a wait, by the thread that waits (the library's own for a call that was started), so as ranks as
  /// threads by several at a time. After it the call waits on, and is right if the others come in the end.
  std::function<void(const Stall&)> on_stall = {};
  /// Then the wait ends with a TransportError with the stall's text, and the communicator is of no more use. Over MPI
  /// it ends only after a message that has begun to arrive, since MPI can't cancel a receive that has been matched.
  bool throws = false;
};

}  // namespace dsop
