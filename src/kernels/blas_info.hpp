// Which OpenBLAS this process has loaded.
#pragma once

#include <string_view>

#include <dsop/product_method.hpp>

namespace dsop::kernels {

/// The processor family whose kernels OpenBLAS chose when it was loaded, such as "SkylakeX".
std::string_view blas_core_name();

/// Whether the kernels of such a core are for x86-64 without AVX. Those of Prescott stand in for processors that are
/// newer than OpenBLAS: 0.3.21 knows no Xeon 6.
bool is_core_without_avx(std::string_view blas_core);

/// Whether BLAS multiplies large inner dimensions as fast as our kernel by these instructions. Where it has no AVX it
/// takes two to five times as long (4096 and 256 pairs).
bool blas_keeps_up_with(InstructionSet instructions);

/// "sequential", "pthreads" or "OpenMP".
std::string_view blas_threading();

/// Its version and build options, one line.
std::string_view blas_version();

}  // namespace dsop::kernels
