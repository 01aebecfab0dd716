#include <iostream>

#include <dsop/errors.hpp>

#include "launch/mpi_world.hpp"

namespace dsop::launch {

int run_on_mpi_world(std::optional<int>, const std::function<void(Transport&)>&, ThreadLevel) {
  if (is_reporting_process())
    std::cerr << "error: started by an MPI launcher, but built without MPI (meson setup -Dmpi=enabled)\n";
  return 1;
}

std::unique_ptr<ReadableFile> open_by_mpi(const std::filesystem::path& path) {
  throw Error(path.string() + ": can't be opened by MPI-IO in a build without MPI");
}

}  // namespace dsop::launch
