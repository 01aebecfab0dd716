// Whoever waits drives all connections. A wait that fails, and a send that is given up, closes them, and so the other
// ranks hear of it.
#include "transport/tcp_transport.hpp"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <chrono>
#include <thread>

#include <dsop/errors.hpp>

#include "base/rank_list.hpp"
#include "transport/carried_calls.hpp"
#include "transport/lone_rank.hpp"
#include "transport/roll_call.hpp"
#include "transport/tcp_messages.hpp"
#include "transport/watched_wait.hpp"

namespace dsop {
namespace {

using Clock = WatchedWait::Clock;
using std::to_string;

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 1 << 30));
}

std::shared_ptr<const TransportKind> tcp_kind() {
  static const auto all = [] {
    const auto kind = std::make_shared<TransportKind>();
    kind->name = "tcp";
    kind->is_probed = true;
    return kind;
  }();
  return all;
}

class TcpTransport final : public Transport {
 public:
  TcpTransport(int rank, int node, std::vector<Socket> sockets)
      : Transport({.rank = rank, .size = static_cast<int>(sockets.size()), .node = node, .kind = tcp_kind()}),
        messages_(sockets.size()),
        roll_call_(rank, size()),
        own_(make_lone_rank()) {
    for (int other = 0; other < size(); ++other) {
      if (other == rank) continue;
      TcpConnection& connection = peer(other).connection;
      connection.socket = std::move(sockets[static_cast<std::size_t>(other)]);
      connection.takes_sends = true;
      epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                        .data = {.u32 = static_cast<unsigned>(other)}};
      if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, connection.socket.get(), &event) != 0)
        throw TransportError("rank " + to_string(rank) + " can't watch its connections: " + std::strerror(errno));
    }
  }

  ~TcpTransport() override {
    if (is_forked()) return;
    end_calls();
    const auto end = Clock::now() + std::chrono::seconds(10);  // a host that is gone takes nothing
    for (int rank = 0; rank < size(); ++rank)
      while (!is_drained(peer(rank).connection) && Clock::now() < end) drive(1);
    close_all();
  }

  std::vector<int> ranks_behind(std::uint64_t position, double seconds) override {
    expect_no_fork();
    const auto ask = [this](int other) { peer(other).connection.push({.kind = Frame::Kind::question}); };
    return roll_call_.ranks_behind(position, seconds, ask, [this] { drive(0); });
  }

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag, Length length) override {
    if (to == rank()) return own_->isend(data, 0, tag, length);
    return post(false, {const_cast<std::byte*>(data.data()), data.size()}, to, tag, length);  // which is read alone
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag, Length length) override {
    if (from == rank()) return own_->irecv(data, 0, tag, length);
    return post(true, data, from, tag, length);
  }

  bool is_done(std::size_t slot) override {
    if (!is_over(slot)) drive(0);
    return is_over(slot);
  }

  std::size_t finish(std::size_t slot) override {
    const Message& message = messages_[slot];
    if (!message.is_done) try {
        expect_no_fork();
        wait_for(slot);
      } catch (...) {
        close_all();
        withdraw(slot);
        throw;
      }
    messages_.give_back(slot);
    return message.bytes;
  }

  void withdraw(std::size_t slot) noexcept override {
    if (!is_over(slot) && !messages_[slot].receives) close_all();
    messages_.withdraw(slot, is_over(slot));
  }

  Request post(bool receives, std::span<std::byte> data, int to, Tag tag, Length length) {
    expect_no_fork();
    return make_request(messages_.post(receives, data, to, static_cast<std::uint16_t>(tag), length));
  }
  bool is_over(std::size_t slot) { return is_forked() || messages_.is_over(slot); }
  Peer& peer(int rank) { return messages_.peer(rank); }

  bool is_forked() const { return forks_ != forks(); }
  void expect_no_fork() const {
    if (is_forked())
      throw TransportError("this process was forked from rank " + to_string(rank()) +
                           ", whose connections it has not; expected a call of that process");
  }

  /// Lets messages progress, and sleeps for up to so long until they can.
  void drive(int milliseconds) {
    std::array<epoll_event, 16> ready{};
    const int count = epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), milliseconds);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = ready[static_cast<std::size_t>(i)];
      const auto from = static_cast<int>(event.data.u32);
      const bool has_ended = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
      peer(from).connection.write();
      peer(from).connection.read(
          has_ended, [&](const Frame& frame) { return begin(from, frame); },
          [&](const Frame& frame) { messages_.end(from, frame); });
    }
  }

  std::byte* begin(int from, const Frame& frame) {
    if (frame.kind == Frame::Kind::question)
      peer(from).connection.push({.kind = Frame::Kind::answer, .bytes = carried().position});
    else if (frame.kind == Frame::Kind::answer)
      roll_call_.take_answer(from, frame.bytes);
    else
      return messages_.begin(from, frame);
    return nullptr;
  }

  // To sleep and be woken costs several times what a message does, so the core goes to other ranks first, among which
  // the sender is. Not where one that computes keeps it: who is woken gets it sooner. The progress thread leaves it to
  // the program at once.
  void wait_for(std::size_t slot) {
    constexpr int turns = 64;
    constexpr int waits_without_turns = 64;
    constexpr std::chrono::microseconds longest_turn{100};
    WatchedWait wait(*this);
    const bool takes_turns = !carried().thread->gives_way() && waits_without_turns_ == 0;
    if (waits_without_turns_ > 0) --waits_without_turns_;
    for (int turn = 1; takes_turns && turn <= turns && !is_over(slot); ++turn) {
      drive(0);
      if (is_over(slot)) break;
      const Clock::time_point before = Clock::now();
      std::this_thread::yield();
      if (Clock::now() - before < longest_turn) continue;
      waits_without_turns_ = waits_without_turns;
      break;
    }
    while (!is_over(slot)) {
      drive(milliseconds_until(wait.deadline()));
      if (Clock::now() >= wait.deadline()) wait.look();
    }
    if (!messages_[slot].is_done) throw_failure(messages_[slot]);
  }

  [[noreturn]] void throw_failure(const Message& message) {
    std::string text = std::string(message.receives ? "receiving " : "sending ") +
                       (message.receives && message.is_told ? "at most " : "") + to_string(message.bytes) +
                       " bytes on rank " + to_string(rank()) + (message.receives ? " from rank " : " to rank ") +
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
    for (int other = 0; other < size() && !is_forked(); ++other)
      if (other != rank()) peer(other).connection.close("rank " + to_string(rank()) + " has given up a message");
  }

  unsigned forks_ = forks();
  Socket events_{[] { return epoll_create1(EPOLL_CLOEXEC); }};
  TcpMessages messages_;
  RollCall roll_call_;
  std::unique_ptr<Transport> own_;  // messages to oneself
  int waits_without_turns_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(int rank, int node, std::vector<Socket> sockets) {
  return std::make_unique<TcpTransport>(rank, node, std::move(sockets));
}

}  // namespace dsop
