// Every rank has something of its own for every other.
#pragma once

#include <algorithm>
#include <array>

#include <dsop/transport.hpp>

namespace dsop::patterns {

enum class EmptyMessages : unsigned char { travel, are_left_out };

/// How far a rank of staggered_all_to_all() is ahead of its messages at most.
inline constexpr int steps_ahead = 8;

/// Messages that it may receive before arrived() has returned for the first of them: those that have come and those
/// under way. So many slots serve steps 1, 2, ... by turns.
inline int most_received_at_once(int ranks) {
  return std::min(ranks - 1, 2 * steps_ahead);
}

/// Sends `to(q)` to every other rank q and receives `from(q)`, spans which must stay as they are, those sent until the
/// end, those received until arrived() returns. In step s every rank sends s places down the line of ranks and receives
/// from s places up, so that nobody is sent two messages at once. Calls arrived(s, t) when the messages of steps s .. t
/// - 1 have come, steps_ahead at most, one span of steps after the other, while those of later steps travel. Messages
/// P - 1, or those that are not empty alone, where both ends know it.
template <class To, class From, class Arrived>
void staggered_all_to_all(Transport& transport, To to, From from, Arrived arrived,
                          EmptyMessages empty = EmptyMessages::travel) {
  std::array<Request, steps_ahead> sends;
  std::array<Request, steps_ahead> receives;
  const auto of_step = [](auto& requests, int s) -> Request& {
    return requests[static_cast<std::size_t>(s % steps_ahead)];
  };
  const int P = transport.size();
  const int r = transport.rank();
  const auto travels = [empty](auto message) { return !message.empty() || empty == EmptyMessages::travel; };
  int started = 1;
  int come = 1;
  // As many steps as may be, but waits for nobody unless there is nothing else to wait for.
  const auto start = [&](bool waits) {
    for (; started < P && started < come + steps_ahead; ++started) {
      Request& send = of_step(sends, started);
      if (!waits && !transport.test(send)) return;
      transport.wait(send);
      const auto in = from((r + started) % P);
      const auto out = to((r - started + P) % P);
      if (travels(in)) of_step(receives, started) = transport.irecv(in, (r + started) % P);
      if (travels(out)) send = transport.isend(out, (r - started + P) % P);
    }
  };
  while (come < P) {
    const int first = come;
    start(started == come);
    do transport.wait(of_step(receives, come++));
    while (come < started && transport.test(of_step(receives, come)));
    start(false);
    arrived(first, come);
  }
  for (Request& send : sends) transport.wait(send);
}

template <class To, class From>
void staggered_all_to_all(Transport& transport, To to, From from) {
  staggered_all_to_all(transport, to, from, [](int, int) {});
}

}  // namespace dsop::patterns
