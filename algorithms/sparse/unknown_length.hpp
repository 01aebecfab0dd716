// Messages whose receiver does not know how long they are: their length goes before them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <dsop/errors.hpp>
#include <dsop/transport.hpp>

namespace dsop::sparse {

inline constexpr std::size_t length_bytes = sizeof(std::size_t);

[[noreturn]] inline void refuse_length(std::size_t bytes, std::size_t most_bytes) {
  throw TransportError("messages of " + std::to_string(bytes) + " bytes were announced, expected at most " +
                       std::to_string(most_bytes));
}

/// Sends two messages.
inline void send_with_length(Transport& transport, std::span<const std::byte> message, int to) {
  const std::size_t length = message.size();
  Request send_length = transport.isend(std::span(&length, 1), to);
  Request send = transport.isend(message, to);
  transport.wait(send_length);
  transport.wait(send);
}

/// Returns the message, at the beginning of `room`. Throws TransportError if it does not fit.
inline std::span<const std::byte> receive_with_length(Transport& transport, std::span<std::byte> room, int from) {
  std::size_t length = 0;
  transport.recv(std::span(&length, 1), from);
  if (length > room.size()) refuse_length(length, room.size());
  transport.recv(room.first(length), from);
  return room.first(length);
}

/// Both at once, with a partner that does the same.
inline std::span<const std::byte> swap_with_length(Transport& transport, std::span<const std::byte> message,
                                                   std::span<std::byte> room, int partner) {
  const std::size_t length = message.size();
  Request send_length = transport.isend(std::span(&length, 1), partner);
  Request send = transport.isend(message, partner);
  std::size_t length_of_theirs = 0;
  transport.recv(std::span(&length_of_theirs, 1), partner);
  if (length_of_theirs > room.size()) refuse_length(length_of_theirs, room.size());
  const std::span<std::byte> theirs = room.first(length_of_theirs);
  Request receive = transport.irecv(theirs, partner);
  transport.wait(receive);
  transport.wait(send_length);
  transport.wait(send);
  return theirs;
}

}  // namespace dsop::sparse
