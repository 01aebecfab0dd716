// Messages over connections, from the first word of one to its end.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <dsop/transport.hpp>

#include "transport/slots.hpp"
#include "transport/tcp_connection.hpp"

namespace dsop {

/// Open as soon as one end has told of it. One of at most 64 KiB, which a new connection takes without waiting, goes at
/// once, and where nobody has asked for it yet the receiver keeps it. Of a longer one the sender first tells the
/// length, and sends it once the receiver has asked, as that does when its receive is posted: so it goes from memory to
/// memory, and lengths that differ are found at both ends.
struct Message {
  static constexpr std::size_t most_bytes_at_once = 1 << 16;

  bool receives = false;
  int peer = 0;
  std::uint16_t tag = 0;
  std::uint32_t place = 0;
  bool is_posted = false;
  std::byte* data = nullptr;
  std::size_t bytes = 0;                        // of a receive whose length is told: of the room, until it is known
  std::optional<std::size_t> other_bytes = {};  // at the other end
  bool is_told = false;                         // the receiver has room for at most so much
  bool has_told = false;                        // the other end its own length
  std::unique_ptr<std::byte[]> kept = {};       // what came before its receive was posted
  bool is_whole = false;                        // it has come
  bool is_done = false;
  bool is_wrong = false;  // the lengths differ
  bool is_given_up = false;

  bool is_long() const { return std::max(bytes, other_bytes.value_or(0)) > most_bytes_at_once; }
  /// Whether the lengths of both ends, which are known, go together.
  bool fits() const {
    const std::size_t sent = receives ? *other_bytes : bytes;
    const std::size_t room = receives ? bytes : *other_bytes;
    return is_given_up || sent == room || (is_told && sent < room);
  }
};

struct Peer {
  static constexpr std::size_t tags = static_cast<std::size_t>(Tag::probe) + 1;

  TcpConnection connection;
  struct Lane {
    std::uint32_t posted = 0;
    std::vector<std::size_t> open;  // slots
  };
  std::array<std::array<Lane, tags>, 2> lanes;  // of sends and receives

  Lane& lane(bool receives, std::uint16_t tag) { return lanes[receives ? 1 : 0][tag]; }
};

/// A message's number is its slot.
class TcpMessages {
 public:
  using Kind = Frame::Kind;

  explicit TcpMessages(std::size_t ranks) : peers_(ranks) {}

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  Message& operator[](std::size_t slot) { return slots_[slot]; }

  std::size_t post(bool receives, std::span<std::byte> data, int to, std::uint16_t tag, Length length) {
    const std::size_t slot = open(receives, to, tag, peer(to).lane(receives, tag).posted++);
    slots_[slot].is_posted = true;
    slots_[slot].data = data.data();
    slots_[slot].bytes = data.size();
    slots_[slot].is_told = length == Length::told;
    go_on(slot);
    return slot;
  }
  /// Whether it is done, or never will be.
  bool is_over(std::size_t slot) {
    const Message& message = slots_[slot];
    const TcpConnection& c = peer(message.peer).connection;
    return message.is_done || message.is_wrong || !c.closed.empty() || (!message.receives && !c.takes_sends);
  }
  void give_back(std::size_t slot) { slots_.give_back(slot); }
  /// A receive that is not over still takes its message, which is then nobody's.
  void withdraw(std::size_t slot, bool is_over) {
    Message& message = slots_[slot];
    message.is_given_up = !is_over;
    if (!is_over) return peer(message.peer).connection.discard(message.tag, message.place);
    std::erase(peer(message.peer).lane(message.receives, message.tag).open, slot);
    slots_.give_back(slot);
  }

  /// Where the bytes go that come after this frame.
  std::byte* begin(int from, const Frame& frame) {
    if (frame.tag >= Peer::tags || frame.kind > Kind::request) return refuse(from);
    if (frame.kind == Kind::request && has_gone(from, frame)) return nullptr;
    const std::size_t slot = open(frame.kind != Kind::request, from, frame.tag, frame.place);
    Message& message = slots_[slot];
    message.other_bytes = frame.bytes;
    if (frame.kind == Kind::message) {
      if (message.is_posted) return message.fits() && !message.is_given_up ? message.data : nullptr;
      if (frame.bytes > Message::most_bytes_at_once) return refuse(from);
      message.kept = std::make_unique_for_overwrite<std::byte[]>(frame.bytes);
      return message.kept.get();
    }
    if (message.is_posted) go_on(slot);
    return nullptr;
  }

  /// They have come.
  void end(int from, const Frame& frame) {
    const std::size_t slot = open(true, from, frame.tag, frame.place);
    slots_[slot].is_whole = true;
    if (slots_[slot].is_posted) go_on(slot);
  }

 private:
  std::byte* refuse(int rank) {
    peer(rank).connection.close("what came is no message");
    return nullptr;
  }

  // Whether a message that is asked for is sent already: a short one, of which the receiver knew no length.
  bool has_gone(int to, const Frame& request) {
    const Peer::Lane& sends = peer(to).lane(false, request.tag);
    const auto is_it = [&](std::size_t slot) { return slots_[slot].place == request.place; };
    const bool is_posted = static_cast<std::int32_t>(request.place - sends.posted) < 0;
    return is_posted && std::ranges::none_of(sends.open, is_it);
  }

  // The slot of a message that is open, or is from now on.
  std::size_t open(bool receives, int of_peer, std::uint16_t tag, std::uint32_t place) {
    std::vector<std::size_t>& all = peer(of_peer).lane(receives, tag).open;
    for (const std::size_t slot : all)
      if (slots_[slot].place == place) return slot;
    const std::size_t slot = slots_.take();
    slots_[slot] = {.receives = receives, .peer = of_peer, .tag = tag, .place = place};
    all.push_back(slot);
    return slot;
  }

  // One that is posted, after something has become known of it.
  void go_on(std::size_t slot) {
    Message& message = slots_[slot];
    TcpConnection& c = peer(message.peer).connection;
    const auto tell = [&](Kind kind, std::size_t bytes) {
      if (!std::exchange(message.has_told, true)) c.push({kind, message.tag, message.place, bytes});
    };
    if (message.receives) {
      if (message.is_long() && !message.is_whole)
        tell(Kind::request, message.is_given_up ? *message.other_bytes : message.bytes);
      if (!message.is_whole && (!message.other_bytes || message.fits())) return;
      message.is_wrong = !message.fits();
      message.is_done = !message.is_wrong;
      if (message.is_done && !message.is_given_up) message.bytes = *message.other_bytes;
      if (message.kept && message.is_done && !message.is_given_up && message.bytes > 0)
        std::memcpy(message.data, message.kept.get(), message.bytes);
      message.kept.reset();
    } else {
      const bool goes = message.bytes <= Message::most_bytes_at_once || (message.other_bytes && message.fits());
      if (!goes) tell(Kind::announcement, message.bytes);
      if (!goes && !message.other_bytes) return;
      message.is_wrong = !goes;
    }
    std::erase(peer(message.peer).lane(message.receives, message.tag).open, slot);
    if (!message.receives && !message.is_wrong)
      c.push({Kind::message, message.tag, message.place, message.bytes}, message.data, &message.is_done);
    if (message.is_given_up) slots_.give_back(slot);
  }

  std::vector<Peer> peers_;
  Slots<Message> slots_;
};

}  // namespace dsop
