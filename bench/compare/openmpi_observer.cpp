// Sees which allreduce or allgather algorithm Open MPI 4 or 5 runs. Its components call these functions of libmpi by
// name, and the dynamic linker finds a program's own functions before a library's: so the calls, also those by which
// one algorithm falls back to another, come here, are noted, and go on to libmpi.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "compare/openmpi.hpp"

namespace {

std::atomic<const char*> last = "none";

template <class... Arguments>
int note_and_go_on(const char* name, const char* symbol, Arguments... arguments) {
  last = name;
  using Function = int (*)(Arguments...);
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, symbol))(arguments...);
}

}  // namespace

namespace dsop::bench::compare {

std::string openmpi_algorithm_that_ran() {
  return last.load();
}

void forget_openmpi_algorithm() {
  last = "none";
}

}  // namespace dsop::bench::compare

// Open MPI's internal signature of an allreduce: send and receive buffer, count, type, operation, communicator, module.
extern "C" {

int ompi_coll_base_allreduce_intra_basic_linear(const void* in, void* out, int count, void* type, void* operation,
                                                void* communicator, void* module) {
  return note_and_go_on("basic_linear", __func__, in, out, count, type, operation, communicator, module);
}

int ompi_coll_base_allreduce_intra_nonoverlapping(const void* in, void* out, int count, void* type, void* operation,
                                                  void* communicator, void* module) {
  return note_and_go_on("nonoverlapping", __func__, in, out, count, type, operation, communicator, module);
}

int ompi_coll_base_allreduce_intra_recursivedoubling(const void* in, void* out, int count, void* type, void* operation,
                                                     void* communicator, void* module) {
  return note_and_go_on("recursive_doubling", __func__, in, out, count, type, operation, communicator, module);
}

int ompi_coll_base_allreduce_intra_ring(const void* in, void* out, int count, void* type, void* operation,
                                        void* communicator, void* module) {
  return note_and_go_on("ring", __func__, in, out, count, type, operation, communicator, module);
}

int ompi_coll_base_allreduce_intra_ring_segmented(const void* in, void* out, int count, void* type, void* operation,
                                                  void* communicator, void* module, std::uint32_t segment_bytes) {
  return note_and_go_on("segmented_ring", __func__, in, out, count, type, operation, communicator, module,
                        segment_bytes);
}

int ompi_coll_base_allreduce_intra_redscat_allgather(const void* in, void* out, int count, void* type, void* operation,
                                                     void* communicator, void* module) {
  return note_and_go_on("rabenseifner", __func__, in, out, count, type, operation, communicator, module);
}

// And of an allgather: what is sent, its count and type, the same of what is received, communicator, module.

int ompi_coll_base_allgather_intra_basic_linear(const void* in, int sent, void* sent_type, void* out, int received,
                                                void* received_type, void* communicator, void* module) {
  return note_and_go_on("linear", __func__, in, sent, sent_type, out, received, received_type, communicator, module);
}

int ompi_coll_base_allgather_intra_bruck(const void* in, int sent, void* sent_type, void* out, int received,
                                         void* received_type, void* communicator, void* module) {
  return note_and_go_on("bruck", __func__, in, sent, sent_type, out, received, received_type, communicator, module);
}

int ompi_coll_base_allgather_intra_recursivedoubling(const void* in, int sent, void* sent_type, void* out, int received,
                                                     void* received_type, void* communicator, void* module) {
  return note_and_go_on("recursive_doubling", __func__, in, sent, sent_type, out, received, received_type, communicator,
                        module);
}

int ompi_coll_base_allgather_intra_ring(const void* in, int sent, void* sent_type, void* out, int received,
                                        void* received_type, void* communicator, void* module) {
  return note_and_go_on("ring", __func__, in, sent, sent_type, out, received, received_type, communicator, module);
}

int ompi_coll_base_allgather_intra_neighborexchange(const void* in, int sent, void* sent_type, void* out, int received,
                                                    void* received_type, void* communicator, void* module) {
  return note_and_go_on("neighbor", __func__, in, sent, sent_type, out, received, received_type, communicator, module);
}

int ompi_coll_base_allgather_intra_two_procs(const void* in, int sent, void* sent_type, void* out, int received,
                                             void* received_type, void* communicator, void* module) {
  return note_and_go_on("two_proc", __func__, in, sent, sent_type, out, received, received_type, communicator, module);
}

}  // extern "C"
