// Which OpenBLAS this process has loaded.
#pragma once

#include <string_view>

#include <dsop/product_method.hpp>

namespace dsop::kernels {

/// The processor family whose kernels OpenBLAS chose when it was loaded, such as "SkylakeX"; "none" in a build without.
std::string_view blas_core_name();
inline bool has_blas() {
  return blas_core_name() != "none";
}

/// Those that the kernels of such a core use. Prescott's, without AVX, stand in for processors that are newer than
/// OpenBLAS: 0.3.21 knows no Xeon 6.
InstructionSet instructions_of_blas(std::string_view blas_core);

/// Whether BLAS multiplies large inner dimensions as fast as our kernel by these instructions. With AVX2 beside our
/// AVX-512 it takes 1.9 times as long (256 pairs), without AVX two to five times (4096 and 256 pairs).
bool blas_keeps_up_with(InstructionSet instructions);

/// "sequential", "pthreads", "OpenMP" or "none".
std::string_view blas_threading();

/// Its version and build options, one line, or "none".
std::string_view blas_version();

}  // namespace dsop::kernels
