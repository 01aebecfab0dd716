// Messages over MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <dsop/transport.hpp>

#include "base/version.hpp"
#include "transport/mpi_collectives.hpp"
#include "transport/mpi_pieces.hpp"
#include "transport/roll_call.hpp"
#include "transport/slots.hpp"

namespace dsop {

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

  /// MPI_Wtime, which a simulated MPI has too.
  double now_seconds() const override;
  std::vector<int> ranks_behind(std::uint64_t position, double seconds) override;

 private:
  struct Meeting;
  static Meeting meet(MPI_Comm communicator, std::size_t largest_piece_bytes, const std::string& version);
  MpiTransport(Meeting meeting, std::size_t largest_piece_bytes);

  Request start_send(std::span<const std::byte> data, int to, Tag tag, Length length) override;
  Request start_receive(std::span<std::byte> data, int from, Tag tag, Length length) override;
  bool is_done(std::size_t slot) override;
  std::size_t finish(std::size_t slot) override;
  void withdraw(std::size_t slot) noexcept override;
  bool use_pieces(double between_nodes_bytes, double in_node_bytes) override;

  /// With what the first piece of a message ends whose length is told, if it has more pieces. Those have a tag of their
  /// own, so that they come to no other message.
  struct Rest {
    std::uint64_t bytes = 0;
    std::uint64_t tag = 0;
  };
  struct Message {
    std::vector<MPI_Request> pieces = {};
    std::vector<MPI_Status> statuses = {};
    bool receives = false;
    int peer = 0;
    std::size_t bytes = 0;        // of a receive that awaits_rest: the room for it
    std::byte* data = {};         // of a receive
    bool awaits_rest = false;     // has no more than the first piece, which tells the length
    std::size_t begun_bytes = 0;  // which came in that piece
    Rest rest = {};               // of a send
  };

  struct Answer {  // in a roll call
    MPI_Request request = MPI_REQUEST_NULL;
    std::uint64_t position = 0;
  };

  /// Tells those who have asked how far this rank has come.
  void answer_roll_calls();
  void give_up_answers();
  /// MPI_Testall, which leaves the pieces as they are.
  bool pieces_are_done(Message& message);
  /// MPI_Waitall, but watched, answering other ranks' roll calls, and on the progress thread giving way to others.
  /// Returns MPI's error code. Throws what the stall watch throws.
  int wait_for_pieces(Message& message);
  /// Once the first piece has come.
  void receive_rest(Message& message);
  bool has_messages() const noexcept;
  bool is_on_this_node(int peer) const { return nodes_[static_cast<std::size_t>(peer)] == node(); }
  /// Of a message of `bytes` from or to `peer`; the same at both ends.
  std::size_t piece_bytes(int peer, std::size_t bytes) const;
  /// Of one whose length is told: a shorter one is one piece.
  std::size_t first_piece_bytes(int peer) const;
  std::size_t put(bool receives, int peer, std::span<std::byte> data);
  /// Sends or receives.
  void start_pieces(Message& message, std::span<std::byte> data, std::size_t most_bytes, int tag);
  void send_told(Message& message, std::span<std::byte> data, int tag);
  std::string describe(const Message& message) const;
  void check_length(const Message& receive) const;

  MPI_Comm communicator_;  // null once it was freed
  std::size_t largest_piece_bytes_;
  std::size_t between_nodes_piece_bytes_ = 0;
  std::size_t in_node_piece_bytes_ = 0;
  std::vector<int> nodes_;  // of all ranks, each by the lowest rank on it
  std::unique_ptr<MpiCollectives> collectives_;
  std::uint64_t rests_ = 0;  // so far
  Slots<Message> slots_;
  RollCall roll_call_;
  std::vector<Answer> answers_;  // the last to each rank
};

}  // namespace dsop
