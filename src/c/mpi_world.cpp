#include "c/mpi_world.hpp"

#include <cstdlib>
#include <string>

#include <dsop/errors.hpp>
#include <dsop/mpi.hpp>

#include "c/status.hpp"
#include "mpi_plugins/may_be_communicator.hpp"
#include "transport/launcher.hpp"
#include "transport/mpi_library.hpp"
#include "transport/mpi_transport.hpp"

namespace dsop::c {
namespace {

bool started_here = false;

bool is_used() {
  return mpi_is_open() || under_mpi_launcher();
}

bool is_initialized() {
  if (!mpi_is_open()) return false;
  int initialized = 0;
  MPI_Initialized(&initialized);
  return initialized != 0;
}

}  // namespace

bool mpi_has_ended() noexcept {
  if (!mpi_is_open()) return false;
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

bool mpi_runs() {
  return is_initialized() && !mpi_has_ended();
}

void start_mpi() {
  if (!is_used()) return;
  open_mpi();
  if (mpi_has_ended()) throw ArgumentError("MPI is finalized, expected a call before");
  if (is_initialized() || !under_mpi_launcher()) return;
  int granted = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &granted), "MPI_Init_thread");
  started_here = true;
}

void end_mpi() {
  if (started_here && mpi_runs()) check_mpi(MPI_Finalize(), "MPI_Finalize");
}

void end_all_ranks(int exit_status) {
  if (!is_forked_process() && mpi_runs()) MPI_Abort(MPI_COMM_WORLD, exit_status);
  std::_Exit(exit_status);
}

Transport* world() {
  if (!is_used()) return nullptr;
  open_mpi();
  if (mpi_runs()) {
    check_mpi_launcher();
    return &TransportOf<MPI_Comm>::get(MPI_COMM_WORLD);
  }
  if (mpi_has_ended()) throw ArgumentError("MPI is finalized, expected a call before");
  if (under_mpi_launcher())
    throw ArgumentError("a launcher has started this process and MPI does not run, expected dsop_init() before");
  return nullptr;
}

Transport& transport_of_mpi(int fint) {
  open_mpi();
  if (!mpi_runs()) throw ArgumentError("MPI is not initialized, expected a call between MPI_Init and MPI_Finalize");
  const MPI_Comm found = MPI_Comm_f2c(fint);
  if (!may_be_communicator(found))
    throw ArgumentError("comm is " + std::to_string(fint) + ", expected the number of a communicator");
  return TransportOf<MPI_Comm>::get(found);
}

}  // namespace dsop::c
