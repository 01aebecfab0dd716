// Messages over TCP.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <dsop/transport.hpp>

#include "transport/slots.hpp"
#include "transport/tcp_socket.hpp"

namespace dsop {

/// Sends a message of at most 64 KiB at once, and where nobody has asked for it yet the receiver keeps it: a new
/// connection takes that much without waiting. For a longer one it tells the length, and sends once the receiver has
/// asked, which that does as soon as its receive is posted; so it goes from memory to memory, and lengths that differ
/// are found at both ends. Whoever waits drives all connections. A wait that fails and a send that is given up close
/// them, and so the other ranks hear of it; a receive that is given up still takes its message.
class TcpTransport final : public Transport {
 public:
  /// `nodes`: of all ranks, each by the lowest rank on it. `sockets`: connected with each other rank.
  TcpTransport(int rank, std::vector<int> nodes, std::vector<Socket> sockets);
  ~TcpTransport() override;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(nodes_.size()); }
  int node() const override { return nodes_[static_cast<std::size_t>(rank_)]; }
  std::string name() const override { return "tcp"; }
  Machine default_machine() const override { return {}; }
  bool is_probed() const override { return true; }
  std::vector<int> ranks_behind(std::uint64_t position, double seconds) override;

 private:
  using Place = std::uint32_t;  // of a message among those of one tag and direction

  /// What goes over a connection: this, and then a message's bytes.
  struct Frame {
    enum class Kind : std::uint16_t { message, announcement, request, question, answer };
    Kind kind = Kind::message;
    std::uint16_t tag = 0;
    Place place = 0;
    std::uint64_t bytes = 0;  // of the message, or of the room for it; of an answer, how far the rank has come
  };

  struct Message {
    enum class State { under_way, done, wrong_length };
    State state = State::under_way;
    bool receives = false;
    bool asked_for = false;
    bool given_up = false;  // a receive: what comes is nobody's
    Tag tag = Tag::payload;
    int peer = 0;
    Place place = 0;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::size_t other_bytes = 0;  // at the other end
  };

  /// A message that came before its receive, the announcement of one (no data), or a request before its send.
  struct Early {
    Place place = 0;
    std::size_t bytes = 0;
    std::unique_ptr<std::byte[]> data = {};
    bool is_whole = false;
  };

  /// The messages of one tag. Numbers are slots.
  struct Lane {
    Place sends = 0;  // so far
    Place receives = 0;
    std::vector<std::size_t> announced;
    std::vector<std::size_t> posted;
    std::vector<Early> messages;
    std::vector<Early> requests;
  };

  struct Outgoing {
    Frame frame;
    const std::byte* data = nullptr;
    std::size_t slot = 0;  // of a message
    std::size_t sent_bytes = 0;
  };

  struct Connection {
    Socket socket;
    std::string closed;  // why, or ""
    bool takes_sends = false;
    bool awaits_room = false;
    std::deque<Outgoing> outgoing;
    std::array<Lane, static_cast<std::size_t>(Tag::probe) + 1> lanes;
    std::array<std::byte, 4096> read_ahead;
    std::size_t read_ahead_bytes = 0;
    Frame incoming;             // whose message is being read
    std::byte* into = nullptr;  // null: nobody's
    std::size_t bytes_to_come = 0;
    bool is_asked = false;  // and has not answered
    std::uint64_t position = 0;
  };

  Request start_send(std::span<const std::byte> data, int to, Tag tag) override;
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override;
  bool is_done(std::size_t slot) override;
  void finish(std::size_t slot) override;
  void withdraw(std::size_t slot) noexcept override;

  Connection& connection(int peer) { return connections_[static_cast<std::size_t>(peer)]; }
  std::size_t put(bool receives, std::byte* data, std::size_t bytes, int peer, Tag tag);
  static constexpr std::size_t none = ~std::size_t{0};
  std::size_t find(const std::vector<std::size_t>& slots, Place place);  // or none
  static std::vector<Early>::iterator find_early(std::vector<Early>& all, Place place) {
    return std::find_if(all.begin(), all.end(), [&](const Early& one) { return one.place == place; });
  }
  bool is_over(const Message& message);
  void expect_no_fork() const;
  void wait_for(Message& message);
  [[noreturn]] void throw_failure(const Message& message);

  void drive(int milliseconds);
  void push(Connection& to, const Frame& frame, const std::byte* data = nullptr, std::size_t slot = 0);
  void send_message(std::size_t slot);
  void write(Connection& to);
  bool read(Connection& from);
  void take(Connection& from, std::size_t bytes);
  void begin(Connection& from);
  void come(Connection& from);
  void hand_over(const Early& early, std::size_t receive);
  void arrive(std::size_t receive);
  void learn_length(std::size_t slot, std::size_t other_bytes);
  void close(Connection& connection, const std::string& why);
  void close_all() noexcept;

  int rank_;
  std::vector<int> nodes_;
  unsigned forks_ = forks();
  Socket events_;
  std::vector<Connection> connections_;
  std::unique_ptr<Transport> own_;  // messages to oneself
  Slots<Message> slots_;
};

}  // namespace dsop
