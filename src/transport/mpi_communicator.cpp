// Which MpiTransport belongs to a user's communicator: it is kept as an attribute, so MPI itself frees it in time. What
// a duplicate of the communicator begins with is an attribute too.
#include <dsop/mpi.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include <dsop/errors.hpp>

#include "transport/carried_calls.hpp"
#include "transport/mpi_transport.hpp"

namespace dsop {
namespace {

// MPI_Finalize deletes the attributes of MPI_COMM_SELF first, while MPI still works, and those of other communicators
// too late to free a duplicate. So all attributes are listed here, and what is left ends with MPI_COMM_SELF; it stays
// in memory, since layers may still refer to it. A program that ends without MPI_Finalize, perhaps from within a
// started call, must not wait here for calls of ranks that will not come: the list outlives the program's statics, and
// mpirun ends the other ranks.
class Attributes {
  struct Attribute {
    std::unique_ptr<MpiTransport> transport = {};  // null in a duplicate that no call has seen
    std::shared_ptr<const Machine> inherited_machine = {};

    std::shared_ptr<const Machine> machine() const {
      return transport ? transport->carried().measured_machine.load() : inherited_machine;
    }
  };

 public:
  static Attributes& instance() {
    static Attributes& never_destroyed = *std::make_unique<Attributes>().release();
    return never_destroyed;
  }

  Transport& get(MPI_Comm communicator) {
    void* attached = nullptr;
    int found = 0;
    check_mpi(MPI_Comm_get_attr(communicator, key(), &attached, &found), "MPI_Comm_get_attr");
    auto* attribute = static_cast<Attribute*>(found != 0 ? attached : nullptr);
    if (attribute != nullptr && attribute->transport) return *attribute->transport;
    auto transport = std::make_unique<MpiTransport>(communicator);  // communicates: not under the lock
    if (attribute == nullptr) {
      attribute = add({});
      check_mpi(MPI_Comm_set_attr(communicator, key(), attribute), "MPI_Comm_set_attr");
    }
    transport->carried().measured_machine = attribute->inherited_machine;
    attribute->transport = std::move(transport);
    return *attribute->transport;
  }

 private:
  int key() {
    const std::lock_guard lock(mutex_);
    if (key_ == MPI_KEYVAL_INVALID) create_keys();
    return key_;
  }

  void create_keys() {
    check_mpi(MPI_Comm_create_keyval(inherit, remove_one, &key_, nullptr), "MPI_Comm_create_keyval");
    int self_key = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, remove_all, &self_key, nullptr), "MPI_Comm_create_keyval");
    check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, self_key, nullptr), "MPI_Comm_set_attr");
  }

  Attribute* add(Attribute attribute) {
    const std::lock_guard lock(mutex_);
    attributes_.push_back(std::make_unique<Attribute>(std::move(attribute)));
    return attributes_.back().get();
  }

  // MPI_Comm_dup calls it. Where a rank has no memory for it, none will take what the others have inherited.
  static int inherit(MPI_Comm, int, void*, void* attached, void* copy, int* is_copied) {
    *is_copied = 0;
    const std::shared_ptr<const Machine> machine = static_cast<Attribute*>(attached)->machine();
    if (!machine) return MPI_SUCCESS;
    try {
      *static_cast<void**>(copy) = instance().add({.inherited_machine = machine});
      *is_copied = 1;
    } catch (const std::bad_alloc&) {
    }
    return MPI_SUCCESS;
  }

  // What is removed is declared before the lock and so ends after it: a transport waits for its started calls.
  static int remove_one(MPI_Comm, int, void* attached, void*) {
    Attributes& attributes = instance();
    std::unique_ptr<Attribute> removed;
    const std::lock_guard lock(attributes.mutex_);
    const auto found = std::find_if(attributes.attributes_.begin(), attributes.attributes_.end(),
                                    [&](const auto& attribute) { return attribute.get() == attached; });
    if (found == attributes.attributes_.end()) return MPI_SUCCESS;
    removed = std::move(*found);
    attributes.attributes_.erase(found);
    return MPI_SUCCESS;
  }
  static int remove_all(MPI_Comm, int, void*, void*) {
    Attributes& attributes = instance();
    {
      const std::lock_guard lock(attributes.mutex_);
      attributes.ended_.swap(attributes.attributes_);
    }
    for (const auto& attribute : attributes.ended_)
      if (attribute->transport) attribute->transport->end();
    return MPI_SUCCESS;
  }

  std::mutex mutex_;
  int key_ = MPI_KEYVAL_INVALID;
  std::vector<std::unique_ptr<Attribute>> attributes_;
  std::vector<std::unique_ptr<Attribute>> ended_;  // by MPI_Finalize
};

}  // namespace

Transport& TransportOf<MPI_Comm>::get(MPI_Comm communicator) {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0)
    throw ArgumentError("MPI is not initialized, expected a call between MPI_Init and MPI_Finalize");
  if (communicator == MPI_COMM_NULL) throw ArgumentError("communicator is MPI_COMM_NULL, expected a communicator");
  int is_inter = 0;
  check_mpi(MPI_Comm_test_inter(communicator, &is_inter), "MPI_Comm_test_inter");
  if (is_inter != 0) throw ArgumentError("communicator is an inter-communicator, expected an intra-communicator");
  return Attributes::instance().get(communicator);
}

}  // namespace dsop
