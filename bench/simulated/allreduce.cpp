// MPI_Allreduce and MPI_Reduce under SMPI, which charges nothing for the additions inside, knows Open MPI's rules of
// version 4.1 only, and copies a vector that is reduced in place, twice, even where it is folded.
#define SMPI_NO_OVERRIDE_MALLOC
#include <mpi.h>

#include <string>

#include <dsop/types.hpp>

#include "simulation.hpp"
#include "transport/mpi_types.hpp"

namespace simgrid::smpi::colls {
// Exported by libsimgrid 3.32, declared in none of its public headers. Takes effect on the next call of any rank.
void set_allreduce(const std::string& name);
}  // namespace simgrid::smpi::colls

namespace dsop::simulated {
namespace {

template <class T>
void add_and_charge(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto elements = static_cast<std::size_t>(*count);
  charge_within_mpi(simulation().machine.addition_seconds(*count, data_type<T>));
  if (!simulation().folded) add_elements(static_cast<T*>(inout), static_cast<T*>(in), static_cast<T*>(inout), elements);
}

MPI_Op make_sum(MPI_User_function* function) {
  MPI_Op sum = MPI_OP_NULL;
  MPI_Op_create(function, 1, &sum);
  return sum;
}

// MPI_SUM where nothing is charged for it.
MPI_Op charged_sum(MPI_Datatype type) {
  MPI_Op sum = MPI_SUM;
  for (const DataType each : data_types)
    visit(each, [&]<class T>(T) {
      static const MPI_Op charged = make_sum(add_and_charge<T>);
      if (type == mpi_type<T>()) sum = charged;
    });
  return sum;
}

// The fixed decision of Open MPI 4.0 (ompi/mca/coll/tuned/coll_tuned_decision_fixed.c) for commutative operators; what
// it does with fewer elements than ranks does not arise: 10000 bytes are more elements than these platforms have hosts.
std::string allreduce_of_open_mpi_4_0_2(std::size_t bytes, int ranks) {
  constexpr std::size_t short_bytes = 10000;
  constexpr std::size_t ring_bytes_per_rank = 1 << 20;
  if (bytes < short_bytes) return "rdb";
  return bytes <= ring_bytes_per_rank * static_cast<std::size_t>(ranks) ? "lr" : "ompi_ring_segmented";
}

// Something to reduce from instead of in place, never touched. SMPI 3.32 leaves out the copy to the result when the
// buffer is shared memory whose one private block is as long as the vector; so the shared block lies behind it.
const void* stand_in(std::size_t bytes) {
  static void* memory = nullptr;
  static std::size_t memory_bytes = 0;
  if (memory_bytes == bytes) return memory;
  if (memory != nullptr) smpi_shared_free(memory);
  const std::size_t shared_block[2] = {bytes, bytes + static_cast<std::size_t>(getpagesize())};
  memory = smpi_shared_malloc_partial(shared_block[1], shared_block, 1);
  memory_bytes = bytes;
  return memory;
}

}  // namespace
}  // namespace dsop::simulated

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm communicator) {
  using namespace dsop::simulated;
  int element_bytes = 0;
  int ranks = 0;
  MPI_Type_size(type, &element_bytes);
  MPI_Comm_size(communicator, &ranks);
  const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(element_bytes);
  if (send == MPI_IN_PLACE && simulation().folded && bytes >= folded_from_bytes) send = stand_in(bytes);
  if (simulation().selector == "openmpi-4.0.2")
    simgrid::smpi::colls::set_allreduce(allreduce_of_open_mpi_4_0_2(bytes, ranks));
  return PMPI_Allreduce(send, receive, count, type, op == MPI_SUM ? charged_sum(type) : op, communicator);
}

int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm communicator) {
  return PMPI_Reduce(send, receive, count, type, op == MPI_SUM ? dsop::simulated::charged_sum(type) : op, root,
                     communicator);
}
