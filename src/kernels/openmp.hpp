// OpenMP's thread count, also in builds without OpenMP.
#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

namespace dsop::kernels {

/// The threads that a parallel region started by the calling thread would have.
inline int thread_count() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/// Sets that number for the calling thread alone; only for threads that we made ourselves.
inline void set_thread_count([[maybe_unused]] int threads) {
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
}

}  // namespace dsop::kernels
