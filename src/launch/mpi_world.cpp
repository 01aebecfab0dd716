#include "launch/mpi_world.hpp"

#include <exception>
#include <iostream>
#include <sstream>

#include <dsop/errors.hpp>
#include <dsop/mpi.hpp>

#include "base/error_of.hpp"
#include "base/shown.hpp"
#include "patterns/agreed_errors.hpp"
#include "transport/mpi_library.hpp"

namespace dsop::launch {

int run_on_mpi_world(std::optional<int> ranks, const std::function<void(Transport&)>& body, ThreadLevel level) {
  int granted = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, level == ThreadLevel::multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED,
                  &granted);
  int status = 1;
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // One write a message, so that the ranks' lines do not mix.
  const auto report = [&](const std::string& who, const std::string& what) {
    std::cerr << (std::ostringstream() << "error: " << who << printable_lines(what) << '\n').str() << std::flush;
  };
  try {
    if (const std::string error = error_of(check_mpi_launcher); !error.empty()) throw AgreedError(error);
    if (ranks && *ranks != size)
      throw AgreedError("--ranks is " + std::to_string(*ranks) + ", expected the " + std::to_string(size) +
                        " that the MPI launcher has started");
    body(TransportOf<MPI_Comm>::get(MPI_COMM_WORLD));
    status = 0;
  } catch (const AgreedError& error) {
    if (rank == 0) report("", error.what());
  } catch (const std::exception&) {
    report("rank " + std::to_string(rank) + ": ", text_of_caught());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

}  // namespace dsop::launch
