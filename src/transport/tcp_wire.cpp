// What goes over the connections.
#include <sys/epoll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/call_state.hpp"
#include "transport/tcp_transport.hpp"

namespace dsop {

void TcpTransport::drive(int milliseconds) {
  std::array<epoll_event, 16> ready{};
  const int count = epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), milliseconds);
  for (int i = 0; i < count; ++i) {
    Connection& c = connections_[ready[static_cast<std::size_t>(i)].data.u32];
    if ((ready[static_cast<std::size_t>(i)].events & EPOLLOUT) != 0) write(c);
    if ((ready[static_cast<std::size_t>(i)].events & ~std::uint32_t{EPOLLOUT}) != 0) read(c);
  }
}

void TcpTransport::push(Connection& to, const Frame& frame, const std::byte* data, std::size_t slot) {
  if (!to.takes_sends) return;
  to.outgoing.push_back({frame, data, slot});
  if (to.outgoing.size() == 1) write(to);
}

void TcpTransport::send_message(std::size_t slot) {
  const Message& message = slots_[slot];
  push(connection(message.peer),
       {Frame::Kind::message, static_cast<std::uint16_t>(message.tag), message.place, message.bytes}, message.data,
       slot);
}

// As much as the connection takes.
void TcpTransport::write(Connection& to) {
  while (!to.outgoing.empty()) {
    Outgoing& first = to.outgoing.front();
    const std::size_t data_bytes = first.frame.kind == Frame::Kind::message ? first.frame.bytes : 0;
    const std::size_t head_left = sizeof(Frame) - std::min(sizeof(Frame), first.sent_bytes);
    const std::size_t data_left = std::min(data_bytes, sizeof(Frame) + data_bytes - first.sent_bytes);
    std::array<iovec, 2> parts{};
    parts[0] = {reinterpret_cast<std::byte*>(&first.frame) + sizeof(Frame) - head_left, head_left};
    parts[1] = {const_cast<std::byte*>(first.data) + (data_bytes - data_left), data_left};
    msghdr all{};
    all.msg_iov = parts.data();
    all.msg_iovlen = parts.size();
    const ssize_t sent = sendmsg(to.socket.get(), &all, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) {  // what the peer has sent before can be read still
      to.takes_sends = false;
      to.outgoing.clear();
    } else if (sent < 0) {
      break;
    } else if ((first.sent_bytes += static_cast<std::size_t>(sent)) == sizeof(Frame) + data_bytes) {
      if (first.frame.kind == Frame::Kind::message) slots_[first.slot].state = Message::State::done;
      to.outgoing.pop_front();
    }
  }
  const bool awaits_room = !to.outgoing.empty();
  if (awaits_room == to.awaits_room) return;
  to.awaits_room = awaits_room;
  epoll_event event{.events = EPOLLIN, .data = {.u32 = static_cast<std::uint32_t>(&to - connections_.data())}};
  if (awaits_room) event.events |= EPOLLOUT;
  epoll_ctl(events_.get(), EPOLL_CTL_MOD, to.socket.get(), &event);
}

// What has come, a message's bytes into its own memory. Returns whether anything has.
bool TcpTransport::read(Connection& from) {
  for (bool any = false;; any = true) {
    if (!from.closed.empty()) return any;
    std::array<iovec, 2> parts{};
    const std::size_t direct = from.into == nullptr ? 0 : from.bytes_to_come;
    parts[0] = {from.into, direct};
    parts[1] = {from.read_ahead.data() + from.read_ahead_bytes, from.read_ahead.size() - from.read_ahead_bytes};
    const std::size_t room = parts[0].iov_len + parts[1].iov_len;
    const ssize_t got = readv(from.socket.get(), parts.data(), static_cast<int>(parts.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return any;
    if (got <= 0) {
      close(from, got == 0 ? "the connection is closed" : std::strerror(errno));
      return true;
    }
    take(from, static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(got) < room) return true;
  }
}

void TcpTransport::take(Connection& from, std::size_t bytes) {
  const std::size_t direct = from.into == nullptr ? 0 : std::min(bytes, from.bytes_to_come);
  if (direct > 0) {
    from.into += direct;
    from.bytes_to_come -= direct;
    if (from.bytes_to_come == 0) come(from);
  }
  from.read_ahead_bytes += bytes - direct;
  std::size_t taken = 0;
  while (from.closed.empty()) {
    const std::size_t left = from.read_ahead_bytes - taken;
    if (from.bytes_to_come > 0) {
      const std::size_t part = std::min(left, from.bytes_to_come);
      if (part == 0) break;
      if (from.into != nullptr) {
        std::memcpy(from.into, from.read_ahead.data() + taken, part);
        from.into += part;
      }
      taken += part;
      if ((from.bytes_to_come -= part) == 0) come(from);
    } else {
      if (left < sizeof(Frame)) break;
      std::memcpy(&from.incoming, from.read_ahead.data() + taken, sizeof(Frame));
      taken += sizeof(Frame);
      begin(from);
    }
  }
  from.read_ahead_bytes -= taken;
  std::memmove(from.read_ahead.data(), from.read_ahead.data() + taken, from.read_ahead_bytes);
}

void TcpTransport::begin(Connection& from) {
  const Frame& frame = from.incoming;
  if (frame.tag >= from.lanes.size()) return close(from, "what came is no message");
  Lane& lane = from.lanes[frame.tag];
  const std::size_t receive = find(lane.posted, frame.place);
  const std::size_t send = find(lane.announced, frame.place);
  switch (frame.kind) {
    case Frame::Kind::message:
      from.bytes_to_come = frame.bytes;
      if (receive == none) {
        auto data = std::make_unique_for_overwrite<std::byte[]>(frame.bytes);
        from.into = data.get();
        lane.messages.push_back({frame.place, frame.bytes, std::move(data)});
      } else {
        learn_length(receive, frame.bytes);
        const Message& message = slots_[receive];
        from.into = message.state == Message::State::under_way && !message.given_up ? message.data : nullptr;
      }
      if (frame.bytes == 0) come(from);
      break;
    case Frame::Kind::announcement:
      if (receive == none)
        lane.messages.push_back({frame.place, frame.bytes});
      else
        learn_length(receive, frame.bytes);
      break;
    case Frame::Kind::request:
      if (send != none) {
        learn_length(send, frame.bytes);
        if (slots_[send].state != Message::State::under_way) break;
        std::erase(lane.announced, send);
        send_message(send);
      } else if (static_cast<std::int32_t>(frame.place - lane.sends) >= 0) {  // else the message was a short one
        lane.requests.push_back({frame.place, frame.bytes});
      }
      break;
    case Frame::Kind::question:
      push(from, {.kind = Frame::Kind::answer, .bytes = calls().watched.position});
      break;
    case Frame::Kind::answer:
      from.position = std::max(from.position, frame.bytes);
      from.is_asked = false;
      break;
    default:
      close(from, "what came is no message");
  }
}

// The message of `incoming` is whole.
void TcpTransport::come(Connection& from) {
  Lane& lane = from.lanes[from.incoming.tag];
  const Place place = from.incoming.place;
  from.into = nullptr;
  const std::size_t receive = find(lane.posted, place);
  const auto early = find_early(lane.messages, place);
  if (early != lane.messages.end()) early->is_whole = true;
  if (receive == none) return;
  if (early == lane.messages.end()) return arrive(receive);
  const Early found = std::move(*early);
  lane.messages.erase(early);
  hand_over(found, receive);
}

// What was there before its receive, or while that was posted.
void TcpTransport::hand_over(const Early& early, std::size_t receive) {
  learn_length(receive, early.bytes);
  const Message& message = slots_[receive];
  if (!early.is_whole || message.state != Message::State::under_way) return;
  if (!message.given_up && early.bytes > 0) std::memcpy(message.data, early.data.get(), early.bytes);
  arrive(receive);
}

void TcpTransport::arrive(std::size_t receive) {
  Message& message = slots_[receive];
  std::erase(connection(message.peer).lanes[static_cast<std::size_t>(message.tag)].posted, receive);
  message.state = Message::State::done;
  if (message.given_up) slots_.give_back(receive);
}

void TcpTransport::close(Connection& connection, const std::string& why) {
  if (!connection.closed.empty()) return;
  connection.closed = why;
  connection.takes_sends = false;
  connection.outgoing.clear();
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, connection.socket.get(), nullptr);
  shutdown(connection.socket.get(), SHUT_RDWR);
}

void TcpTransport::close_all() noexcept {
  if (forks_ != forks()) return;
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank_) close(connection(peer), "rank " + std::to_string(rank_) + " has given up a message");
}

}  // namespace dsop
