#include "kernels/blas_info.hpp"

#include <cblas.h>

#include <algorithm>
#include <array>

namespace dsop::kernels {

std::string_view blas_core_name() {
  return openblas_get_corename();
}

bool is_core_without_avx(std::string_view blas_core) {
  constexpr std::array<std::string_view, 11> without{"Prescott",  "Core2",  "Penryn",  "Dunnington",
                                                     "Nehalem",   "Atom",   "Opteron", "Opteron_SSE3",
                                                     "Barcelona", "Bobcat", "Nano"};
  return std::find(without.begin(), without.end(), blas_core) != without.end();
}

bool blas_keeps_up_with(InstructionSet instructions) {
  static const bool without_avx = is_core_without_avx(blas_core_name());
  return !without_avx || instructions == InstructionSet::baseline;
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
