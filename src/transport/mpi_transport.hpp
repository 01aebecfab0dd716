// Messages over MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <dsop/transport.hpp>

#include "base/version.hpp"
#include "transport/mpi_roll_call.hpp"
#include "transport/slots.hpp"

namespace dsop {

/// Throws TransportError naming the call unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// Whether messages travel in the machine's pieces. By default those are as long as Open MPI sends over TCP, or inside
/// a node copies through shared memory, at once. For a longer message the two ranks shake hands first: it waits for the
/// receiver, and where both ends send, for what comes the other way; and it would not travel while its ranks compute.
/// Where the receive is not posted yet, MPI keeps the pieces until it is.
extern const bool cuts_messages;

/// Owns a duplicate of the communicator it is given. A message longer than `largest_piece_bytes` (MPI counts are 32-bit
/// ints here; tests lower the limit), or than the machine's pieces, travels in pieces, which keep their order. A
/// receive of another length than was sent is an error where it ends in the same piece.
class MpiTransport final : public Transport {
 public:
  /// Throws TransportError on all ranks if their versions, here own_version(), are not one.
  explicit MpiTransport(MPI_Comm communicator, std::size_t largest_piece_bytes = std::size_t{1} << 30,
                        const std::string& version = own_version());
  ~MpiTransport() override;

  /// What the destructor does, while MPI still works; calls made later throw TransportError.
  void end() noexcept;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node() const override { return nodes_[static_cast<std::size_t>(rank_)]; }
  std::string name() const override { return "mpi"; }
  Machine default_machine() const override { return {}; }
  bool is_probed() const override { return true; }
  bool use_pieces_of(const Machine& machine) override;
  /// MPI_Wtime, which a simulated MPI has too.
  double now_seconds() const override;
  bool has_native_collectives() const override { return true; }
  bool native_sums_have_same_bits() const override { return native_sums_have_same_bits_; }
  void native_allreduce(std::span<std::byte> data, DataType type) override;
  void native_allgather(std::span<std::byte> data, std::span<const std::size_t> bounds_bytes) override;
  void native_broadcast(std::span<std::byte> data, int root) override;
  void native_reduce(std::span<std::byte> data, DataType type, int root) override;
  bool allows_progress_thread() const override { return allows_progress_thread_; }
  std::vector<int> ranks_behind(std::uint64_t position, double seconds) override;

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag) override;
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override;
  bool is_done(std::size_t slot) override;
  void finish(std::size_t slot) override;
  void withdraw(std::size_t slot) noexcept override;

  struct Message {
    std::vector<MPI_Request> pieces;
    std::vector<MPI_Status> statuses;
    bool receives = false;
    int peer = 0;
    std::size_t bytes = 0;
  };

  /// MPI_Waitall, but watched, answering other ranks' roll calls, and on the progress thread giving way to others.
  /// Returns MPI's error code. Throws what the stall watch throws.
  int wait_for_pieces(Message& message);
  template <class Sum>
  void for_summed_pieces(std::size_t bytes, DataType type, Sum sum);
  const void* roots_own(const std::byte* data, std::size_t bytes);
  bool has_messages() const noexcept;
  /// Of a message of `bytes` from or to `peer`; the same at both ends.
  std::size_t piece_bytes(int peer, std::size_t bytes) const;
  std::size_t put(bool receives, int peer, std::size_t bytes);
  std::string describe(const Message& message) const;
  void check_length(const Message& receive) const;

  MPI_Comm communicator_;  // null once it was freed
  std::size_t largest_piece_bytes_;
  std::size_t between_nodes_piece_bytes_ = 0;
  std::size_t in_node_piece_bytes_ = 0;
  int rank_ = 0;
  int size_ = 1;
  std::vector<int> nodes_;  // of all ranks, each by the lowest rank on it
  Slots<Message> slots_;
  std::vector<int> counts_;  // of native_allgather, kept so that it allocates once
  std::vector<int> offsets_;
  std::vector<std::byte> roots_copy_;  // of native_reduce, likewise
  std::optional<RollCall> roll_call_;
  bool allows_progress_thread_ = false;
  bool native_sums_have_same_bits_ = false;
  bool reduces_in_place_ = true;
};

}  // namespace dsop
