#include "transport/mpi_library.hpp"

#include <mpi.h>

#include <array>
#include <cstdlib>

#include <dsop/errors.hpp>

namespace dsop {

std::string mpi_library() {
  char version[1 << 14] = "";  // the library that answers may be another than mpi.h is of, with longer texts
  int length = 0;
  MPI_Get_library_version(version, &length);
  const std::string text(version, static_cast<std::size_t>(length));
  return text.substr(0, text.find_first_of(",\n"));
}

void check_mpi_library() {
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

namespace {

// 0 where no launcher says it.
int launched_ranks() {
#ifdef OPEN_MPI
  constexpr std::array own_launcher_first{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
#else
  constexpr std::array own_launcher_first{"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};
#endif
  for (const char* const name : own_launcher_first)
    if (const char* const text = std::getenv(name)) return std::atoi(text);
  return 0;
}

}  // namespace

void check_mpi_launcher() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int launched = launched_ranks();
  if (ranks == 1 && launched > 1)
    throw ArgumentError("a launcher has started " + std::to_string(launched) +
                        " processes, of which MPI sees this one alone, expected the mpirun of dsop's " + mpi_library());
}

}  // namespace dsop
