// What the test programs over MPI share: what went wrong on any rank, on all of them, and how they begin and end.
#pragma once

#include <string>

#include <dsop/mpi.hpp>

#include "failures.hpp"
#include "session.hpp"

namespace dsop::tests {

/// All ranks' failures, on all ranks.
inline std::string failures_of_all(const Failures& own) {
  std::string text = own.text();
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::string all;
  for (int speaker = 0; speaker < size; ++speaker) {
    int length = static_cast<int>(text.size());
    MPI_Bcast(&length, 1, MPI_INT, speaker, MPI_COMM_WORLD);
    std::string words = speaker == rank ? text : std::string(static_cast<std::size_t>(length), ' ');
    MPI_Bcast(words.data(), length, MPI_CHAR, speaker, MPI_COMM_WORLD);
    all += words;
  }
  return all;
}

inline Transport& world() {
  return TransportOf<MPI_Comm>::get(MPI_COMM_WORLD);
}

/// Runs all tests; fails on all ranks if it does on one.
inline int run_tests_over_mpi(int argc, char** argv, int thread_level) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, thread_level, &level);
  int status = run_tests(argc, argv);
  MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return status;
}

}  // namespace dsop::tests
