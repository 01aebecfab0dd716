#include <cstdlib>

#include <dsop/errors.hpp>

#include "c/mpi_world.hpp"

namespace dsop::c {

bool mpi_runs() {
  return false;
}

bool mpi_has_ended() noexcept {
  return false;
}

void start_mpi() {}

void end_mpi() {}

void end_all_ranks(int exit_status) {
  std::_Exit(exit_status);
}

Transport* world() {
  return nullptr;
}

Transport& transport_of_mpi(int) {
  throw ArgumentError("this library was built without MPI, expected a build with it");
}

}  // namespace dsop::c
