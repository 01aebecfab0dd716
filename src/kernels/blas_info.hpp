// Which OpenBLAS this process has loaded.
#pragma once

#include <string_view>

namespace dsop::kernels {

/// The processor family whose kernels OpenBLAS chose when it was loaded, such as "SkylakeX".
std::string_view blas_core_name();

/// "sequential", "pthreads" or "OpenMP".
std::string_view blas_threading();

/// Its version and build options, one line.
std::string_view blas_version();

}  // namespace dsop::kernels
