#include "launch/mpi_world.hpp"

#include <exception>
#include <iostream>

#include <dsop/errors.hpp>
#include <dsop/mpi.hpp>

#include "base/error_of.hpp"
#include "patterns/agreed_errors.hpp"
#include "transport/mpi_library.hpp"

namespace dsop::launch {

int run_on_mpi_world(std::optional<int> ranks, const std::function<void(Transport&)>& body, ThreadLevel level) {
  if (const std::string error = error_of(open_mpi); !error.empty()) {
    if (is_reporting_process()) std::cerr << "error: " + error + '\n';
    return 1;
  }
  int granted = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, level == ThreadLevel::multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED,
                  &granted);
  int status = 1;
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    if (const std::string error = error_of(check_mpi_launcher); !error.empty()) throw AgreedError(error);
    if (ranks && *ranks != size)
      throw AgreedError("--ranks is " + std::to_string(*ranks) + ", expected the " + std::to_string(size) +
                        " that the MPI launcher has started");
    body(TransportOf<MPI_Comm>::get(MPI_COMM_WORLD));
    status = 0;
  } catch (const std::exception&) {
    if (!print_caught(rank)) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

}  // namespace dsop::launch
