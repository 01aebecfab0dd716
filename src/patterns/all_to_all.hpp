// Every rank has something of its own for every other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

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

/// Whom a rank sends to, and receives from, in step s.
enum class Destinations : unsigned char {
  rotated,  ///< s places down the line of ranks, and from s places up, so that nobody is sent two messages at once
  in_order  ///< rank 0 in the first step, and so on, itself left out, and from the same: what rotating is measured
            ///< against
};

/// How staggered_all_to_all() goes about it.
struct Steps {
  Destinations destinations = Destinations::rotated;
  int ahead = steps_ahead;  ///< at most steps_ahead; 1: nothing is under way while what has come is dealt with

  /// Whom rank r of `ranks` receives from in step s, of 1 .. ranks - 1; in step 0: itself.
  int source(int r, int s, int ranks) const {
    if (destinations == Destinations::rotated) return (r + s) % ranks;
    return s == 0 ? r : s - (s <= r ? 1 : 0);
  }
  int destination(int r, int s, int ranks) const {
    return destinations == Destinations::rotated ? (r - s + ranks) % ranks : source(r, s, ranks);
  }
  /// The step in which rank r receives from q.
  int step_of(int r, int q, int ranks) const {
    if (destinations == Destinations::rotated) return (q - r + ranks) % ranks;
    return q == r ? 0 : q + (q < r ? 1 : 0);
  }
};

/// Sends `to(q)` to every other rank q and receives `from(q)`, spans which must stay as they are, those sent until the
/// end, those received until arrived() returns. Calls arrived(s, t) when the messages of steps s .. t - 1 have come,
/// steps.ahead at most, one span of steps after the other, while those of later steps travel. Messages P - 1, or those
/// that are not empty alone, where both ends know it. With destinations in order no circle of ranks waits for each
/// other: what ranks a and b send each other waits for messages of theirs with lower ranks alone. Where there are
/// `received_bytes`, `from(q)` is room for at most so much, and received_bytes[q] becomes what has come.
template <class To, class From, class Arrived>
void staggered_all_to_all(Transport& transport, To to, From from, Arrived arrived,
                          EmptyMessages empty = EmptyMessages::travel, const Steps& steps = {},
                          std::span<std::size_t> received_bytes = {}) {
  std::array<Request, steps_ahead> sends;
  std::array<Request, steps_ahead> receives;
  const auto of_step = [](auto& requests, int s) -> Request& {
    return requests[static_cast<std::size_t>(s % steps_ahead)];
  };
  const int P = transport.size();
  const int r = transport.rank();
  const Length length = received_bytes.empty() ? Length::known : Length::told;
  const auto travels = [empty](auto message) { return !message.empty() || empty == EmptyMessages::travel; };
  int started = 1;
  int come = 1;
  // As many steps as may be, but waits for nobody unless there is nothing else to wait for.
  const auto start = [&](bool waits) {
    for (; started < P && started < come + steps.ahead; ++started) {
      Request& send = of_step(sends, started);
      if (!waits && !transport.test(send)) return;
      transport.wait(send);
      const int source = steps.source(r, started, P);
      const int destination = steps.destination(r, started, P);
      const auto in = from(source);
      const auto out = to(destination);
      if (travels(in)) of_step(receives, started) = transport.irecv(in, source, Tag::payload, length);
      if (travels(out)) send = transport.isend(out, destination, Tag::payload, length);
    }
  };
  while (come < P) {
    const int first = come;
    start(started == come);
    do {
      const std::size_t bytes = transport.wait(of_step(receives, come));
      if (!received_bytes.empty()) received_bytes[static_cast<std::size_t>(steps.source(r, come, P))] = bytes;
    } while (++come < started && transport.test(of_step(receives, come)));
    if (steps.ahead > 1) start(false);
    arrived(first, come);
  }
  for (Request& send : sends) transport.wait(send);
}

template <class To, class From>
void staggered_all_to_all(Transport& transport, To to, From from) {
  staggered_all_to_all(transport, to, from, [](int, int) {});
}

}  // namespace dsop::patterns
