#include "kernels/blas_info.hpp"

#include <cblas.h>

namespace dsop::kernels {

std::string_view blas_core_name() {
  return openblas_get_corename();
}

std::string_view blas_threading() {
  switch (openblas_get_parallel()) {
    case OPENBLAS_SEQUENTIAL:
      return "sequential";
    case OPENBLAS_THREAD:
      return "pthreads";
    case OPENBLAS_OPENMP:
      return "OpenMP";
    default:
      return "unknown";
  }
}

std::string_view blas_version() {
  return openblas_get_config();
}

}  // namespace dsop::kernels
