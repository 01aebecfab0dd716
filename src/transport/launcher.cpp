// What the environment tells about the launcher of this process.
#include "transport/mpi_launcher.hpp"

#include <array>
#include <cstdlib>

namespace dsop {

bool under_mpi_launcher() {
  constexpr std::array names{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
  for (const char* const name : names)
    if (std::getenv(name) != nullptr) return true;
  return false;
}

}  // namespace dsop
