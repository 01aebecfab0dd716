#include "common_start.hpp"

#include <limits>
#include <span>

#include "clock.hpp"
#include "collect.hpp"

namespace dsop::bench {
namespace {

constexpr int round_trips = 30;

void answer(Transport& transport, int rank) {
  for (int i = 0; i < round_trips; ++i) {
    double time = 0;
    transport.recv(std::span(&time, 1), rank);
    time = now_seconds();
    transport.send(std::span(&time, 1), rank);
  }
}

double ask(Transport& transport) {
  double shortest = std::numeric_limits<double>::infinity();
  double offset = 0;
  for (int i = 0; i < round_trips; ++i) {
    double at_zero = 0;
    const double sent = now_seconds();
    transport.send(std::span(&at_zero, 1), 0);
    transport.recv(std::span(&at_zero, 1), 0);
    const double received = now_seconds();
    if (received - sent >= shortest) continue;
    shortest = received - sent;
    offset = (sent + received) / 2 - at_zero;
  }
  return offset;
}

}  // namespace

CommonStart::CommonStart(Transport& transport) : transport_(transport) {
  for (int rank = 1; rank < transport.size(); ++rank) {
    if (transport.rank() == 0) answer(transport, rank);
    if (transport.rank() == rank) offset_seconds_ = ask(transport);
  }
}

void CommonStart::wait() {
  constexpr double notice_seconds = 200e-6;  // longer than the ranks need to get from the exchange to waiting
  const double latest = largest_of_all_ranks(transport_, now_seconds() - offset_seconds_);
  wait_until(latest + notice_seconds + offset_seconds_);
}

}  // namespace dsop::bench
