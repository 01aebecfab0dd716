// What the environment tells about the launcher of this process.
#include <array>
#include <cstdlib>
#include <string_view>

#include "launch/launch.hpp"
#include "transport/launcher.hpp"

namespace dsop::launch {

bool under_mpi_launcher() {
  return dsop::under_mpi_launcher();
}

bool is_reporting_process() {
  constexpr std::array names{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  for (const char* const name : names)
    if (const char* const rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
}

}  // namespace dsop::launch
