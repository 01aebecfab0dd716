// A message of at most 64 KiB, which a new connection takes without waiting, goes at once, and where nobody has asked
// for it yet the receiver keeps it. Of a longer one the sender first tells the length, and sends it once the receiver
// has asked, as that does when its receive is posted: so it goes from memory to memory, and lengths that differ are
// found at both ends. Whoever waits drives all connections. A wait that fails, and a send that is given up, closes
// them, and so the other ranks hear of it; a receive that is given up still takes its message.
#include "transport/tcp_transport.hpp"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <chrono>
#include <optional>
#include <thread>

#include <dsop/errors.hpp>

#include "base/rank_list.hpp"
#include "transport/call_state.hpp"
#include "transport/lone_rank.hpp"
#include "transport/look_for_ranks.hpp"
#include "transport/slots.hpp"
#include "transport/stall.hpp"
#include "transport/tcp_connection.hpp"

namespace dsop {
namespace {

using Clock = WatchedWait::Clock;
using Kind = Frame::Kind;
using std::to_string;

constexpr std::size_t most_bytes_at_once = 1 << 16;
constexpr std::size_t tags = static_cast<std::size_t>(Tag::probe) + 1;

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 1 << 30));
}

/// Open as soon as one end has told of it.
struct Message {
  bool receives = false;
  int peer = 0;
  std::uint16_t tag = 0;
  std::uint32_t place = 0;
  bool is_posted = false;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::optional<std::size_t> other_bytes = {};  // at the other end
  bool has_told = false;                        // the other end its own length
  std::unique_ptr<std::byte[]> kept = {};       // what came before its receive was posted
  bool is_whole = false;                        // it has come
  bool is_done = false;
  bool is_wrong = false;  // the lengths differ
  bool is_given_up = false;

  bool is_long() const { return std::max(bytes, other_bytes.value_or(0)) > most_bytes_at_once; }
  bool fits() const { return other_bytes == bytes || is_given_up; }
};

struct Peer {
  TcpConnection connection;
  struct Lane {
    std::uint32_t posted = 0;
    std::vector<std::size_t> open;  // slots
  };
  std::array<std::array<Lane, tags>, 2> lanes;  // of sends and receives
  bool is_asked = false;                        // and has not answered
  std::uint64_t position = 0;

  Lane& lane(bool receives, std::uint16_t tag) { return lanes[receives ? 1 : 0][tag]; }
};

class TcpTransport final : public Transport {
 public:
  TcpTransport(int rank, std::vector<int> nodes, std::vector<Socket> sockets)
      : rank_(rank), nodes_(std::move(nodes)), peers_(nodes_.size()), own_(make_lone_rank()) {
    for (std::size_t peer = 0; peer < nodes_.size(); ++peer) {
      peers_[peer].connection.socket = std::move(sockets[peer]);
      if (peer == static_cast<std::size_t>(rank)) continue;
      peers_[peer].connection.takes_sends = true;
      epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.u64 = peer}};
      if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, peers_[peer].connection.socket.get(), &event) != 0)
        throw TransportError("rank " + to_string(rank) + " can't watch its connections: " + std::strerror(errno));
    }
  }

  ~TcpTransport() override {
    if (is_forked()) return;
    end_calls();
    const auto end = Clock::now() + std::chrono::seconds(10);  // a host that is gone takes nothing
    for (Peer& peer : peers_)
      while (!is_drained(peer.connection) && Clock::now() < end) drive(1);
    close_all();
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(nodes_.size()); }
  int node() const override { return nodes_[static_cast<std::size_t>(rank_)]; }
  std::string name() const override { return "tcp"; }
  Machine default_machine() const override { return {}; }
  bool is_probed() const override { return true; }

  std::vector<int> ranks_behind(std::uint64_t position, double seconds) override {
    expect_no_fork();
    return look_for_ranks(seconds, [&] {
      drive(0);
      std::vector<int> behind;
      for (int rank = 0; rank < size(); ++rank) {
        if (rank == rank_ || peer(rank).position >= position) continue;
        behind.push_back(rank);
        if (!std::exchange(peer(rank).is_asked, true)) peer(rank).connection.push({.kind = Kind::question});
      }
      return behind;
    });
  }

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag) override {
    if (to == rank_) return own_->isend(data, 0, tag);
    return post(false, const_cast<std::byte*>(data.data()), data.size(), to, tag);  // which is read alone
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override {
    if (from == rank_) return own_->irecv(data, 0, tag);
    return post(true, data.data(), data.size(), from, tag);
  }

  bool is_done(std::size_t slot) override {
    if (!is_over(slots_[slot])) drive(0);
    return is_over(slots_[slot]);
  }

  void finish(std::size_t slot) override {
    Message& message = slots_[slot];
    if (!message.is_done) try {
        expect_no_fork();
        wait_for(message);
      } catch (...) {
        const auto tag = static_cast<Tag>(message.tag);
        if (tag == Tag::payload || tag == Tag::agreement) close_all();
        withdraw(slot);
        throw;
      }
    slots_.give_back(slot);
  }

  void withdraw(std::size_t slot) noexcept override {
    Message& message = slots_[slot];
    if (!is_over(message) && message.receives) {
      message.is_given_up = true;
      return peer(message.peer).connection.discard(message.tag, message.place);
    }
    if (!is_over(message)) close_all();
    std::erase(peer(message.peer).lane(message.receives, message.tag).open, slot);
    slots_.give_back(slot);
  }

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  bool is_forked() const { return forks_ != forks(); }
  void expect_no_fork() const {
    if (is_forked())
      throw TransportError("this process was forked from rank " + to_string(rank_) +
                           ", whose connections it has not; expected a call of that process");
  }

  // Done, or never to be.
  bool is_over(const Message& message) {
    const TcpConnection& c = peer(message.peer).connection;
    const bool is_lost = !c.closed.empty() || (!message.receives && !c.takes_sends);
    return message.is_done || message.is_wrong || is_lost || is_forked();
  }

  Request post(bool receives, std::byte* data, std::size_t bytes, int to, Tag tag) {
    expect_no_fork();
    const auto number = static_cast<std::uint16_t>(tag);
    const std::size_t slot = open(receives, to, number, peer(to).lane(receives, number).posted++);
    Message& message = slots_[slot];
    message.is_posted = true;
    message.data = data;
    message.bytes = bytes;
    go_on(slot);
    return make_request(slot);
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
      if (message.kept && message.fits() && !message.is_given_up && message.bytes > 0)
        std::memcpy(message.data, message.kept.get(), message.bytes);
      message.kept.reset();
    } else {
      const bool goes = message.bytes <= most_bytes_at_once || (message.other_bytes && message.fits());
      if (!goes) tell(Kind::announcement, message.bytes);
      if (!goes && !message.other_bytes) return;
      message.is_wrong = !goes;
    }
    std::erase(peer(message.peer).lane(message.receives, message.tag).open, slot);
    if (!message.receives && !message.is_wrong)
      c.push({Kind::message, message.tag, message.place, message.bytes}, message.data, &message.is_done);
    if (message.is_given_up) slots_.give_back(slot);
  }

  // Where the bytes go that come after this frame.
  std::byte* begin(int from, const Frame& frame) {
    if (frame.tag >= tags) return peer(from).connection.close("what came is no message"), nullptr;
    if (frame.kind == Kind::question) {
      peer(from).connection.push({.kind = Kind::answer, .bytes = calls().watched.position});
    } else if (frame.kind == Kind::answer) {
      peer(from).position = std::max(peer(from).position, frame.bytes);
      peer(from).is_asked = false;
    } else {
      const std::size_t slot = open(frame.kind != Kind::request, from, frame.tag, frame.place);
      Message& message = slots_[slot];
      message.other_bytes = frame.bytes;
      if (frame.kind == Kind::message) {
        if (message.is_posted) return message.fits() && !message.is_given_up ? message.data : nullptr;
        message.kept = std::make_unique_for_overwrite<std::byte[]>(frame.bytes);
        return message.kept.get();
      }
      if (message.is_posted) go_on(slot);
    }
    return nullptr;
  }

  void end(int from, const Frame& frame) {
    const std::size_t slot = open(true, from, frame.tag, frame.place);
    slots_[slot].is_whole = true;
    if (slots_[slot].is_posted) go_on(slot);
  }

  /// Lets messages progress, and sleeps for up to so long until they can.
  void drive(int milliseconds) {
    std::array<epoll_event, 16> ready{};
    const int count = epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), milliseconds);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = ready[static_cast<std::size_t>(i)];
      const auto from = static_cast<int>(event.data.u64);
      const bool has_ended = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
      peer(from).connection.write();
      peer(from).connection.read(
          has_ended, [&](const Frame& frame) { return begin(from, frame); },
          [&](const Frame& frame) { end(from, frame); });
    }
  }

  // To sleep and be woken costs several times what a message does, so the core goes to other ranks first, among which
  // the sender is. Not where one that computes keeps it: who is woken gets it sooner. The progress thread leaves it to
  // the program at once.
  void wait_for(const Message& message) {
    constexpr int turns = 64;
    constexpr int waits_without_turns = 64;
    constexpr std::chrono::microseconds longest_turn{100};
    WatchedWait wait(*this);
    const CallQueue& queue = *calls().queue;
    const bool gives_way = queue.on_progress_thread() && !queue.is_awaited();
    const bool takes_turns = !gives_way && waits_without_turns_ == 0;
    if (waits_without_turns_ > 0) --waits_without_turns_;
    for (int turn = 1; takes_turns && turn <= turns && !is_over(message); ++turn) {
      drive(0);
      if (is_over(message)) break;
      const Clock::time_point before = Clock::now();
      std::this_thread::yield();
      if (Clock::now() - before < longest_turn) continue;
      waits_without_turns_ = waits_without_turns;
      break;
    }
    while (!is_over(message)) {
      drive(milliseconds_until(wait.deadline()));
      if (Clock::now() >= wait.deadline()) wait.look();
    }
    if (!message.is_done) throw_failure(message);
  }

  [[noreturn]] void throw_failure(const Message& message) {
    std::string text = std::string(message.receives ? "receiving " : "sending ") + to_string(message.bytes) +
                       " bytes on rank " + to_string(rank_) + (message.receives ? " from rank " : " to rank ") +
                       to_string(message.peer);
    if (message.is_wrong)
      throw TransportError(text + ": " + to_string(*message.other_bytes) +
                           (message.receives ? " bytes came" : " were expected"));
    const auto end = Clock::now() + std::chrono::milliseconds(20);  // what happened at once is heard of one by one
    while (Clock::now() < end) drive(milliseconds_until(end));
    const std::string& why = peer(message.peer).connection.closed;
    text += " failed: " + (why.empty() ? "the connection is closed" : why);
    std::vector<int> closed;
    for (int rank = 0; rank < size(); ++rank)
      if (!peer(rank).connection.closed.empty()) closed.push_back(rank);
    throw TransportError(closed.size() > 1 ? text + "; closed connections: " + list_ranks(closed) : text);
  }

  static bool is_drained(const TcpConnection& connection) {
    int bytes = 0;
    return !connection.takes_sends ||
           (connection.has_written() && (ioctl(connection.socket.get(), SIOCOUTQ, &bytes) != 0 || bytes == 0));
  }

  void close_all() noexcept {
    for (int rank = 0; rank < size() && !is_forked(); ++rank)
      if (rank != rank_) peer(rank).connection.close("rank " + to_string(rank_) + " has given up a message");
  }

  int rank_;
  std::vector<int> nodes_;
  unsigned forks_ = forks();
  Socket events_{[] { return epoll_create1(EPOLL_CLOEXEC); }};
  std::vector<Peer> peers_;
  std::unique_ptr<Transport> own_;  // messages to oneself
  Slots<Message> slots_;
  int waits_without_turns_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(int rank, std::vector<int> nodes, std::vector<Socket> sockets) {
  return std::make_unique<TcpTransport>(rank, std::move(nodes), std::move(sockets));
}

}  // namespace dsop
