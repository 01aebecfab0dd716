#include "kernels/blas_info.hpp"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace dsop::kernels {

std::string_view blas_core_name() {
  return openblas_get_corename();
}

bool is_core_without_avx(std::string_view blas_core) {
  constexpr std::array<std::string_view, 17> without{
      "generic", "katmai", "coppermine", "northwood", "banias",       "prescott",  "core2",  "penryn", "dunnington",
      "nehalem", "atom",   "athlon",     "opteron",   "opteron_sse3", "barcelona", "bobcat", "nano"};
  std::string name(blas_core);  // in capitals where OpenBLAS is built for one processor
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(without, name) != without.end();
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
