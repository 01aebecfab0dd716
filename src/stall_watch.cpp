// The public call.
#include <sstream>
#include <utility>

#include <dsop/dsop.hpp>

#include "transport/call_state.hpp"

namespace dsop {

void set_stall_watch(Communicator communicator, StallWatch watch) {
  if (!(watch.limit_seconds >= 0)) {
    std::ostringstream text;
    text << "limit_seconds is " << watch.limit_seconds << ", expected 0 or more";
    throw ArgumentError(text.str());
  }
  CallState& calls = communicator.transport().calls();
  calls.queue->wait_for_all();
  calls.watched.watch = std::move(watch);
}

}  // namespace dsop
