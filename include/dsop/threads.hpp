// Ranks as threads of one process: no launcher needed.
#pragma once

#include <functional>
#include <vector>

#include <dsop/transport.hpp>

namespace dsop {

/// Runs body on `ranks` threads, each with its own rank's Transport, and returns when all have ended. A rank's thread
/// uses `omp_threads` OpenMP threads in kernels (one unless told otherwise: the ranks already fill the cores).
/// `nodes` names the node that each rank is to be on, ranks with the same number together; empty: each on its own.
/// If a rank throws, ranks that wait for it throw TransportError, and the first rank's own exception is rethrown here.
/// Throws ArgumentError if `ranks` or `omp_threads` is below 1, or `nodes` does not have a number for each rank, and
/// Error if the system has no more threads.
void run_on_threads(int ranks, const std::function<void(Transport&)>& body, int omp_threads = 1,
                    const std::vector<int>& nodes = {});

}  // namespace dsop
