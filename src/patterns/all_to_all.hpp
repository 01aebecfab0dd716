// Every rank has something of its own for every other.
#pragma once

#include <array>

#include <dsop/transport.hpp>

namespace dsop::patterns {

enum class EmptyMessages : unsigned char { travel, are_left_out };

/// Sends `to(q)` to every other rank q and receives `from(q)`, spans which must stay as they are until the end. In step
/// s every rank sends s places up the line of ranks, so that nobody is sent two messages at once; a rank is at most
/// eight steps ahead of its messages. Messages P - 1, or those that are not empty alone, where both ends know it.
template <class To, class From>
void staggered_all_to_all(Transport& transport, To to, From from, EmptyMessages empty = EmptyMessages::travel) {
  constexpr int steps_ahead = 8;
  std::array<Request, steps_ahead> sends;
  std::array<Request, steps_ahead> receives;
  const int P = transport.size();
  const int r = transport.rank();
  for (int s = 1; s < P; ++s) {
    Request& receive = receives[static_cast<std::size_t>(s % steps_ahead)];
    Request& send = sends[static_cast<std::size_t>(s % steps_ahead)];
    transport.wait(receive);
    transport.wait(send);
    const auto in = from((r - s + P) % P);
    const auto out = to((r + s) % P);
    if (!in.empty() || empty == EmptyMessages::travel) receive = transport.irecv(in, (r - s + P) % P);
    if (!out.empty() || empty == EmptyMessages::travel) send = transport.isend(out, (r + s) % P);
  }
  for (Request& receive : receives) transport.wait(receive);
  for (Request& send : sends) transport.wait(send);
}

}  // namespace dsop::patterns
