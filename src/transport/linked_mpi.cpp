#include <mpi.h>

#include <dsop/errors.hpp>

#include "transport/mpi_library.hpp"

namespace dsop {

bool mpi_is_open() {
  return true;
}

void open_mpi() {
#ifdef OPEN_MPI
  constexpr bool built_for_open_mpi = true;
#else
  constexpr bool built_for_open_mpi = false;
#endif
  static const std::string loaded = mpi_library();  // asked once: calls with communicators of mpi4py come here
  if (loaded.starts_with("Open MPI") != built_for_open_mpi)
    throw ArgumentError("this process has loaded " + loaded + ", expected the MPI that dsop is built for, " +
                        (built_for_open_mpi ? "Open MPI" : "which is not Open MPI"));
}

}  // namespace dsop
