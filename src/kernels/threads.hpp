// The threads that kernels run on: OpenMP's of the calling thread. A build without OpenMP (threads.cpp) uses the OpenMP
// that the process has loaded, and threads of its own where there is none.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/float_mode.hpp"

#if defined(_OPENMP)
#include <omp.h>
#else
#include "kernels/thread_pool.hpp"
#endif

namespace dsop::kernels {

#if defined(_OPENMP)
inline std::size_t thread_count() {
  return static_cast<std::size_t>(omp_get_max_threads());
}

/// Sets that number for the calling thread alone; only for threads that we made ourselves.
inline void set_thread_count(int threads) {
  omp_set_num_threads(threads);
}
#else
std::size_t thread_count();
void set_thread_count(int threads);
void run_team(std::size_t threads, TeamBody body);
#endif

/// As on_threads(), each thread in the float mode that it happens to have.
template <class Body>
void on_threads_as_they_are(std::size_t threads, const Body& body) {
  if (threads < 2) return body(std::size_t{0}, std::size_t{1});
#if defined(_OPENMP)
  const int team = static_cast<int>(threads);
#pragma omp parallel num_threads(team)
  body(static_cast<std::size_t>(omp_get_thread_num()), static_cast<std::size_t>(omp_get_num_threads()));
#else
  run_team(
      threads,
      {[](const void* data, std::size_t t, std::size_t team) { (*static_cast<const Body*>(data))(t, team); }, &body});
#endif
}

/// Calls body(t, team) for t = 0 .. team-1, at the same time on the threads of a team of at most `threads`, all in the
/// default float mode: OpenMP's threads keep that which their maker had when it made them. `body` must not throw.
template <class Body>
void on_threads(std::size_t threads, const Body& body) {
  on_threads_as_they_are(threads, [&](std::size_t t, std::size_t team) {
    const DefaultFloatMode mode;
    body(t, team);
  });
}

/// While it lives, the threads of a team of at most `threads` are in the default float mode, also where another
/// library, such as an OpenBLAS that uses OpenMP, calls them up. Costs a team's start where there is more than one.
class DefaultFloatModeOfTeam {
 public:
  explicit DefaultFloatModeOfTeam(std::size_t threads) : threads_(threads) {
    if (threads_ < 2) return;
    on_threads_as_they_are(threads_, [&](std::size_t, std::size_t) {
      before_ = float_mode();
      if (before_ == 0) return;
      set_float_mode(0);
      differs_ = true;
    });
  }
  DefaultFloatModeOfTeam(const DefaultFloatModeOfTeam&) = delete;
  ~DefaultFloatModeOfTeam() {
    if (differs_) on_threads_as_they_are(threads_, [](std::size_t, std::size_t) { set_float_mode(before_); });
  }

 private:
  inline static thread_local std::uint64_t before_ = 0;  // each thread's own

  std::size_t threads_;
  std::atomic<bool> differs_ = false;
};

}  // namespace dsop::kernels
