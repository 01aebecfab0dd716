// Forcing by MPI's tool interface: Open MPI reads the parameters when a communicator is made, so they are set around
// MPI_Comm_dup and put back. coll_tuned_use_dynamic_rules, without which they are ignored, can't be written by then.
#include <mpi.h>

#include <cstdlib>
#include <limits>

#include <dsop/errors.hpp>

#include "compare/openmpi.hpp"
#include "transport/mpi_transport.hpp"

namespace dsop::bench::compare {
namespace {

constexpr const char* allreduce_parameter = "coll_tuned_allreduce_algorithm";
constexpr const char* allgather_parameter = "coll_tuned_allgather_algorithm";
constexpr const char* segment_parameter = "coll_tuned_allreduce_algorithm_segmentsize";
constexpr const char* switch_variable = "OMPI_MCA_coll_tuned_use_dynamic_rules";

// With the default, 0, the segmented ring is never taken: one segment is the whole vector, which is "too short".
constexpr int segment_bytes = 1 << 20;

// Once, and never finalised: Open MPI looks for all its components anew each time.
void start_tool_interface() {
  static const int code = [] {
    int level = 0;
    return MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
  }();
  check_mpi(code, "MPI_T_init_thread");
}

bool has(const char* parameter) {
  int index = 0;
  return MPI_T_cvar_get_index(parameter, &index) == MPI_SUCCESS;
}

// Holds a parameter at a value as long as it lives.
class Override {
 public:
  Override(const char* parameter, int value) {
    int index = 0;
    int count = 0;
    check_mpi(MPI_T_cvar_get_index(parameter, &index), "MPI_T_cvar_get_index");
    check_mpi(MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count), "MPI_T_cvar_handle_alloc");
    check_mpi(MPI_T_cvar_read(handle_, &before_), "MPI_T_cvar_read");
    check_mpi(MPI_T_cvar_write(handle_, &value), "MPI_T_cvar_write");
  }
  Override(const Override&) = delete;
  Override& operator=(const Override&) = delete;
  ~Override() {
    MPI_T_cvar_write(handle_, &before_);
    MPI_T_cvar_handle_free(&handle_);
  }

 private:
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
  int before_ = 0;
};

// A duplicate of MPI_COMM_WORLD.
class Communicator {
 public:
  Communicator() { check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &handle_), "MPI_Comm_dup"); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() { MPI_Comm_free(&handle_); }

  MPI_Comm handle() const { return handle_; }

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
};

void allgather(MPI_Comm communicator, std::span<std::byte> blocks) {
  int ranks = 0;
  MPI_Comm_size(communicator, &ranks);
  const std::size_t block_bytes = blocks.size() / static_cast<std::size_t>(ranks);
  constexpr auto most_bytes = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (block_bytes > most_bytes)
    throw ArgumentError("MPI_Allgather takes at most " + std::to_string(most_bytes) +
                        " bytes of a rank, and these are " + std::to_string(block_bytes));
  check_mpi(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks.data(), static_cast<int>(block_bytes), MPI_BYTE,
                          communicator),
            "MPI_Allgather");
}

}  // namespace

void let_openmpi_be_forced() {
  setenv(switch_variable, "1", 0);
}

std::string openmpi_unavailable(const Transport& transport) {
  if (transport.name() != "mpi") return "runs inside Open MPI, and these ranks do not use MPI";
  const char* const value = std::getenv(switch_variable);
  if (value == nullptr || std::string(value) != "1") return std::string("needs ") + switch_variable + "=1";
  start_tool_interface();
  for (const char* const parameter : {allreduce_parameter, segment_parameter, allgather_parameter})
    if (!has(parameter)) return std::string("needs Open MPI's parameter ") + parameter;
  return "";
}

std::unique_ptr<Transport> openmpi_forced_to(int number) {
  start_tool_interface();
  const Override algorithm(allreduce_parameter, number);
  const Override segment(segment_parameter, segment_bytes);
  return std::make_unique<MpiTransport>(MPI_COMM_WORLD);
}

OpenMpiAllgather openmpi_allgather_forced_to(int number) {
  start_tool_interface();
  const Override algorithm(allgather_parameter, number);
  return [communicator = std::make_shared<Communicator>()](std::span<std::byte> blocks) {
    allgather(communicator->handle(), blocks);
  };
}

}  // namespace dsop::bench::compare
