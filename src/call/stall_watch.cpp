// The public call.
#include <chrono>
#include <sstream>
#include <utility>

#include <dsop/dsop.hpp>

#include "call/call_state.hpp"

namespace dsop {

void set_stall_watch(Communicator communicator, StallWatch watch) {
  if (!(watch.limit_seconds >= 0)) {
    std::ostringstream text;
    text << "limit_seconds is " << watch.limit_seconds << ", expected 0 or more";
    throw ArgumentError(text.str());
  }
  CallState& calls = communicator.transport().calls();
  calls.queue->wait_for_all();
  using Clock = CarriedCalls::Clock;
  constexpr double for_ever_seconds = 1e9;
  const bool ends =
      (watch.on_stall || watch.throws) && watch.limit_seconds > 0 && watch.limit_seconds < for_ever_seconds;
  calls.stall_limit =
      ends ? std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(watch.limit_seconds))
           : Clock::duration::max();
  calls.watch = std::move(watch);
}

}  // namespace dsop
