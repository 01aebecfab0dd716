// Forcing by MPI's tool interface: Open MPI reads the parameters when a communicator is made, so they are set around
// MPI_Comm_dup and put back. coll_tuned_use_dynamic_rules, without which they are ignored, can't be written by then.
#include <mpi.h>

#include <cstdlib>

#include "compare/openmpi.hpp"
#include "transport/mpi_transport.hpp"

namespace dsop::bench::compare {
namespace {

constexpr const char* algorithm_parameter = "coll_tuned_allreduce_algorithm";
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

}  // namespace

void let_openmpi_be_forced() {
  setenv(switch_variable, "1", 0);
}

std::string openmpi_unavailable(const Transport& transport) {
  if (transport.name() != "mpi") return "runs inside Open MPI, and these ranks do not use MPI";
  const char* const value = std::getenv(switch_variable);
  if (value == nullptr || std::string(value) != "1") return std::string("needs ") + switch_variable + "=1";
  start_tool_interface();
  for (const char* const parameter : {algorithm_parameter, segment_parameter})
    if (!has(parameter)) return std::string("needs Open MPI's parameter ") + parameter;
  return "";
}

std::unique_ptr<Transport> openmpi_forced_to(int number) {
  start_tool_interface();
  const Override algorithm(algorithm_parameter, number);
  const Override segment(segment_parameter, segment_bytes);
  return std::make_unique<MpiTransport>(MPI_COMM_WORLD);
}

}  // namespace dsop::bench::compare
