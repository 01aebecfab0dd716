#include "transport/tcp_transport.hpp"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <dsop/errors.hpp>

#include "base/rank_list.hpp"
#include "transport/call_state.hpp"
#include "transport/lone_rank.hpp"
#include "transport/look_for_ranks.hpp"
#include "transport/stall.hpp"

namespace dsop {
namespace {

using Clock = WatchedWait::Clock;
using std::to_string;
constexpr std::size_t most_bytes_at_once = 1 << 16;

int milliseconds_until(Clock::time_point deadline) {
  constexpr std::chrono::milliseconds longest{1 << 30};
  const auto left = deadline - Clock::now();
  return static_cast<int>(std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left), {}, longest).count());
}

}  // namespace

TcpTransport::TcpTransport(int rank, std::vector<int> nodes, std::vector<Socket> sockets)
    : rank_(rank),
      nodes_(std::move(nodes)),
      events_([] { return epoll_create1(EPOLL_CLOEXEC); }),
      connections_(nodes_.size()),
      own_(make_lone_rank()) {
  if (!events_) throw TransportError(std::string("epoll_create1 failed: ") + std::strerror(errno));
  for (int peer = 0; peer < size(); ++peer) {
    Connection& made = connection(peer);
    made.socket = std::move(sockets[static_cast<std::size_t>(peer)]);
    if (peer == rank) continue;
    made.takes_sends = true;
    epoll_event event{.events = EPOLLIN, .data = {.u32 = static_cast<std::uint32_t>(peer)}};
    if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, made.socket.get(), &event) != 0)
      throw TransportError(std::string("epoll_ctl failed: ") + std::strerror(errno));
  }
}

TcpTransport::~TcpTransport() {
  if (forks_ != forks()) return;
  end_calls();
  const auto deadline = Clock::now() + std::chrono::seconds(10);  // a host that is gone takes nothing
  for (Connection& c : connections_) {
    const auto is_drained = [&] {
      int bytes = 0;
      return !c.takes_sends || (c.outgoing.empty() && (ioctl(c.socket.get(), SIOCOUTQ, &bytes) != 0 || bytes == 0));
    };
    while (!is_drained() && Clock::now() < deadline) drive(1);
  }
  close_all();
}

void TcpTransport::expect_no_fork() const {
  if (forks_ != forks())
    throw TransportError("this process was forked from rank " + to_string(rank_) +
                         ", whose connections are its own; expected a call of that process");
}

std::size_t TcpTransport::put(bool receives, std::byte* data, std::size_t bytes, int peer, Tag tag) {
  expect_no_fork();
  Lane& lane = connection(peer).lanes[static_cast<std::size_t>(tag)];
  const std::size_t slot = slots_.take();
  slots_[slot] = {.receives = receives,
                  .tag = tag,
                  .peer = peer,
                  .place = receives ? lane.receives++ : lane.sends++,
                  .data = data,
                  .bytes = bytes};
  return slot;
}

std::size_t TcpTransport::find(const std::vector<std::size_t>& slots, Place place) {
  for (const std::size_t slot : slots)
    if (slots_[slot].place == place) return slot;
  return none;
}

Request TcpTransport::start_send(std::span<const std::byte> data, int to, Tag tag) {
  if (to == rank_) return own_->isend(data, 0, tag);
  const std::size_t slot =
      put(false, const_cast<std::byte*>(data.data()), data.size(), to, tag);  // which is read alone
  Connection& c = connection(to);
  if (!c.takes_sends) return make_request(slot);
  if (data.size() <= most_bytes_at_once) {
    send_message(slot);
    return make_request(slot);
  }
  Lane& lane = c.lanes[static_cast<std::size_t>(tag)];
  Message& message = slots_[slot];
  const auto request = find_early(lane.requests, message.place);
  const std::size_t room_bytes = request == lane.requests.end() ? none : request->bytes;
  if (request != lane.requests.end()) lane.requests.erase(request);
  if (room_bytes == data.size()) {
    send_message(slot);
    return make_request(slot);
  }
  push(c, {Frame::Kind::announcement, static_cast<std::uint16_t>(tag), message.place, data.size()});
  lane.announced.push_back(slot);
  if (room_bytes != none) learn_length(slot, room_bytes);
  return make_request(slot);
}

Request TcpTransport::start_receive(std::span<std::byte> data, int from, Tag tag) {
  if (from == rank_) return own_->irecv(data, 0, tag);
  const std::size_t slot = put(true, data.data(), data.size(), from, tag);
  Connection& c = connection(from);
  Lane& lane = c.lanes[static_cast<std::size_t>(tag)];
  Message& message = slots_[slot];
  const auto early = find_early(lane.messages, message.place);
  lane.posted.push_back(slot);
  if (early != lane.messages.end() && (early->is_whole || !early->data)) {
    const Early found = std::move(*early);
    lane.messages.erase(early);
    hand_over(found, slot);
  } else if (early == lane.messages.end() && data.size() > most_bytes_at_once) {
    message.asked_for = true;
    push(c, {Frame::Kind::request, static_cast<std::uint16_t>(tag), message.place, data.size()});
  }
  return make_request(slot);
}

// Of a long message, or of one that has come.
void TcpTransport::learn_length(std::size_t slot, std::size_t other_bytes) {
  Message& message = slots_[slot];
  Connection& c = connection(message.peer);
  Lane& lane = c.lanes[static_cast<std::size_t>(message.tag)];
  message.other_bytes = other_bytes;
  const bool fits = other_bytes == message.bytes || message.given_up;
  if (!fits) {
    message.state = Message::State::wrong_length;
    std::erase(message.receives ? lane.posted : lane.announced, slot);
  }
  if (message.receives && !message.asked_for && other_bytes > most_bytes_at_once) {
    message.asked_for = true;
    push(c, {Frame::Kind::request, static_cast<std::uint16_t>(message.tag), message.place,
             message.given_up ? other_bytes : message.bytes});
  }
}

bool TcpTransport::is_over(const Message& message) {
  const Connection& c = connection(message.peer);
  return message.state != Message::State::under_way || !c.closed.empty() || (!message.receives && !c.takes_sends);
}

bool TcpTransport::is_done(std::size_t slot) {
  if (forks_ != forks()) return true;
  if (!is_over(slots_[slot])) drive(0);
  return is_over(slots_[slot]);
}

void TcpTransport::finish(std::size_t slot) {
  Message& message = slots_[slot];
  if (message.state != Message::State::done) try {
      expect_no_fork();
      wait_for(message);
    } catch (...) {
      if (message.tag == Tag::payload || message.tag == Tag::agreement) close_all();
      withdraw(slot);
      throw;
    }
  slots_.give_back(slot);
}

// To sleep and be woken costs several times what a message does, so the core goes to other ranks first, among which the
// sender is. The progress thread leaves it to the program at once.
void TcpTransport::wait_for(Message& message) {
  constexpr int turns = 64;
  constexpr int turns_a_look = 8;  // at all connections
  WatchedWait wait(*this);
  const CallQueue& queue = *calls().queue;
  const auto end = Clock::now() + std::chrono::milliseconds(1);
  const bool gives_way = queue.on_progress_thread() && !queue.is_awaited();
  for (int turn = 0; turn < turns && !gives_way && !is_over(message) && Clock::now() < end; ++turn) {
    if (!message.receives || turn % turns_a_look == turns_a_look - 1)
      drive(0);
    else
      read(connection(message.peer));
    if (!is_over(message)) std::this_thread::yield();
  }
  while (!is_over(message)) {
    drive(milliseconds_until(wait.deadline()));
    if (Clock::now() >= wait.deadline()) wait.look();
  }
  if (message.state != Message::State::done) throw_failure(message);
}

void TcpTransport::throw_failure(const Message& message) {
  std::string text = std::string(message.receives ? "receiving " : "sending ") + to_string(message.bytes) +
                     " bytes on rank " + to_string(rank_) + (message.receives ? " from rank " : " to rank ") +
                     to_string(message.peer);
  if (message.state == Message::State::wrong_length)
    throw TransportError(text + ": " + to_string(message.other_bytes) +
                         (message.receives ? " bytes came" : " were expected"));
  const auto end = Clock::now() + std::chrono::milliseconds(20);  // what happened at once is heard of one by one
  while (Clock::now() < end) drive(milliseconds_until(end));
  const std::string& why = connection(message.peer).closed;
  text += " failed: " + (why.empty() ? "the connection is closed" : why);
  std::vector<int> closed;
  for (int peer = 0; peer < size(); ++peer)
    if (!connection(peer).closed.empty()) closed.push_back(peer);
  throw TransportError(closed.size() > 1 ? text + "; closed connections: " + list_ranks(closed) : text);
}

void TcpTransport::withdraw(std::size_t slot) noexcept {
  Message& message = slots_[slot];
  Connection& c = connection(message.peer);
  if (forks_ == forks() && !is_over(message)) {
    if (message.receives) {
      message.given_up = true;
      if (c.incoming.tag == static_cast<std::uint16_t>(message.tag) && c.incoming.place == message.place)
        c.into = nullptr;
      return;
    }
    close_all();
  }
  slots_.give_back(slot);
}

std::vector<int> TcpTransport::ranks_behind(std::uint64_t position, double seconds) {
  expect_no_fork();
  return look_for_ranks(seconds, [&] {
    drive(0);
    std::vector<int> behind;
    for (int peer = 0; peer < size(); ++peer) {
      Connection& c = connection(peer);
      if (peer == rank_ || c.position >= position) continue;
      behind.push_back(peer);
      if (!std::exchange(c.is_asked, true)) push(c, {.kind = Frame::Kind::question});
    }
    return behind;
  });
}

}  // namespace dsop
