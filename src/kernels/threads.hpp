// The OpenMP threads of the calling thread, or one thread in a build without OpenMP.
#pragma once

#include <cstddef>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace dsop::kernels {

inline std::size_t thread_count() {
#if defined(_OPENMP)
  return static_cast<std::size_t>(omp_get_max_threads());
#else
  return 1;
#endif
}

/// Calls body(t, team) for t = 0 .. team-1, at the same time on the threads of a team of at most `threads`.
/// `body` must not throw.
template <class Body>
void on_threads([[maybe_unused]] std::size_t threads, const Body& body) {
#if defined(_OPENMP)
  if (threads > 1) {
    const int team = static_cast<int>(threads);
#pragma omp parallel num_threads(team)
    body(static_cast<std::size_t>(omp_get_thread_num()), static_cast<std::size_t>(omp_get_num_threads()));
    return;
  }
#endif
  body(std::size_t{0}, std::size_t{1});
}

}  // namespace dsop::kernels
