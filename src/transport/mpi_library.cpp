#include "transport/mpi_library.hpp"

#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <dsop/errors.hpp>

namespace dsop {

std::string mpi_library() {
  if (!mpi_is_open()) return "none";
  char version[1 << 14] = "";  // the library that answers may be another than mpi.h is of, with longer texts
  int length = 0;
  MPI_Get_library_version(version, &length);
  const std::string text(version, static_cast<std::size_t>(length));
  return text.substr(0, text.find_first_of(",\n"));
}

namespace {

// 0 in what is not MPICH.
int hundreds_of_mpich(const std::string& library) {
  int major = 0;
  int minor = 0;
  std::sscanf(library.c_str(), "MPICH Version: %d.%d", &major, &minor);
  return 100 * major + minor;
}

}  // namespace

bool sums_have_same_bits(const std::string& library) {
  int open_mpi = 0;
  std::sscanf(library.c_str(), "Open MPI v%d", &open_mpi);
  const int mpich = hundreds_of_mpich(library);
  return open_mpi == 4 || open_mpi == 5 || (mpich >= 400 && mpich < 500);
}

bool reduces_in_place(const std::string& library) {
  const int mpich = hundreds_of_mpich(library);
  return mpich < 303 || mpich >= 402;
}

namespace {

// 0 where no launcher says it.
int launched_ranks() {
  std::array own_launcher_first{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  if (!mpi_library().starts_with("Open MPI")) std::swap(own_launcher_first[0], own_launcher_first[1]);
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
