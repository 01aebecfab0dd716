// One TCP connection: frames, and the bytes of a message after its frame.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>

#include "transport/tcp_socket.hpp"

namespace dsop {

struct Frame {
  enum class Kind : std::uint16_t { message, announcement, request, question, answer };
  Kind kind = Kind::message;
  std::uint16_t tag = 0;
  std::uint32_t place = 0;  // among the messages of this tag in this direction
  std::uint64_t bytes = 0;  // of the message, or of the room for it; of an answer, how far the rank has come
};

class TcpConnection {
 public:
  Socket socket;
  std::string closed = {};   // why, or ""
  bool takes_sends = false;  // else what the peer sent before it ended can be read still

  /// Sends the frame and, after one of a message, its data; `*is_sent` becomes true when the system has taken them.
  void push(const Frame& frame, const std::byte* data = nullptr, bool* is_sent = nullptr) {
    if (!takes_sends) return;
    outgoing_.push_back({frame, data, is_sent});
    if (outgoing_.size() == 1) write();
  }
  bool has_written() const { return outgoing_.empty(); }

  /// As much as the system takes.
  void write() {
    while (!outgoing_.empty()) {
      Outgoing& first = outgoing_.front();
      const std::size_t all_bytes = sizeof(Frame) + (first.data != nullptr ? first.frame.bytes : 0);
      const std::size_t of_frame = std::min(first.sent_bytes, sizeof(Frame));
      const std::size_t of_data = first.sent_bytes - of_frame;
      iovec parts[] = {{reinterpret_cast<std::byte*>(&first.frame) + of_frame, sizeof(Frame) - of_frame},
                       {const_cast<std::byte*>(first.data) + of_data, all_bytes - sizeof(Frame) - of_data}};
      msghdr message{};
      message.msg_iov = parts;
      message.msg_iovlen = std::size(parts);
      const ssize_t sent = sendmsg(socket.get(), &message, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return;
      if (sent < 0) {
        takes_sends = false;
        return outgoing_.clear();
      }
      first.sent_bytes += static_cast<std::size_t>(sent);
      if (first.sent_bytes < all_bytes) continue;
      if (first.is_sent != nullptr) *first.is_sent = true;
      outgoing_.pop_front();
    }
  }

  /// All that has come and, where the peer `has_ended`, that too. `begin(frame)` returns where a message's bytes go, or
  /// null if nobody wants them; `end(frame)` is called when they are there.
  template <class Begin, class End>
  void read(bool has_ended, const Begin& begin, const End& end) {
    for (bool is_all = false; closed.empty() && (has_ended || !is_all);) {
      const std::size_t direct = into_ == nullptr ? 0 : bytes_to_come_;
      const iovec parts[] = {{into_, direct}, {ahead_.data() + ahead_bytes_, ahead_.size() - ahead_bytes_}};
      const ssize_t got = readv(socket.get(), parts, static_cast<int>(std::size(parts)));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return close(got == 0 || errno == ECONNRESET ? "the connection is closed" : std::strerror(errno));
      const auto bytes = static_cast<std::size_t>(got);
      is_all = bytes < parts[0].iov_len + parts[1].iov_len;
      take(std::min(direct, bytes), end);
      ahead_bytes_ += bytes - std::min(direct, bytes);
      take_ahead(begin, end);
    }
  }
  /// What comes of this message is nobody's.
  void discard(std::uint16_t tag, std::uint32_t place) {
    if (incoming_.tag == tag && incoming_.place == place) into_ = nullptr;
  }

  void close(const std::string& why) {
    if (!closed.empty()) return;
    closed = why;
    takes_sends = false;
    outgoing_.clear();
    shutdown(socket.get(), SHUT_RDWR);
  }

 private:
  struct Outgoing {
    Frame frame;
    const std::byte* data;
    bool* is_sent;
    std::size_t sent_bytes = 0;
  };

  template <class End>
  void take(std::size_t bytes, const End& end) {
    if (into_ != nullptr) into_ += bytes;
    bytes_to_come_ -= bytes;
    if (bytes > 0 && bytes_to_come_ == 0) end(incoming_);
  }

  template <class Begin, class End>
  void take_ahead(const Begin& begin, const End& end) {
    std::size_t done = 0;
    while (closed.empty()) {
      const std::size_t left = ahead_bytes_ - done;
      const std::size_t part = bytes_to_come_ > 0 ? std::min(left, bytes_to_come_) : sizeof(Frame);
      if (left < part || part == 0) break;
      if (bytes_to_come_ > 0) {
        if (into_ != nullptr) std::memcpy(into_, ahead_.data() + done, part);
        take(part, end);
      } else {
        std::memcpy(&incoming_, ahead_.data() + done, sizeof(Frame));
        into_ = begin(incoming_);
        if (incoming_.kind == Frame::Kind::message && incoming_.bytes == 0) end(incoming_);
        bytes_to_come_ = incoming_.kind == Frame::Kind::message ? incoming_.bytes : 0;
      }
      done += part;
    }
    ahead_bytes_ -= done;
    std::memmove(ahead_.data(), ahead_.data() + done, ahead_bytes_);
  }

  std::deque<Outgoing> outgoing_;
  Frame incoming_;
  std::byte* into_ = nullptr;
  std::size_t bytes_to_come_ = 0;
  std::array<std::byte, 4096> ahead_;  // frames, and what came with them
  std::size_t ahead_bytes_ = 0;
};

}  // namespace dsop
