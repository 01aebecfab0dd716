// Threads of our own, for processes that have no OpenMP.
#pragma once

#include <cstddef>

namespace dsop::kernels {

/// What the threads of a team call, each with its number and the size of the team.
struct TeamBody {
  void (*call)(const void* data, std::size_t t, std::size_t team);
  const void* data;
};

/// Calls it on the calling thread and threads - 1 others, on fewer where the system has no more. The others belong to
/// the calling thread, sleep between its calls, and end with it; a forked child makes its own. Costs their wake-up.
void run_on_own_threads(std::size_t threads, TeamBody body);

/// As OpenMP counts: what OMP_NUM_THREADS says first, else the processors that this process may use.
int threads_unless_told();

}  // namespace dsop::kernels
