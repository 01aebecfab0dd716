// What went wrong on any of MPI's ranks, on all of them.
#pragma once

#include <mpi.h>

#include <string>

#include "failures.hpp"

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

}  // namespace dsop::tests
