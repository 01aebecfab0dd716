#include "transport/call_state.hpp"

#include <algorithm>
#include <new>

#include <dsop/errors.hpp>

#include "base/error_of.hpp"

namespace dsop {

std::shared_ptr<CarriedCalls> make_carried_calls() {
  return std::make_shared<CallState>();
}

CallState& Transport::calls() {
  return static_cast<CallState&>(carried());
}

std::string CallState::text() const {
  return "call " + std::to_string((position + 1) / 2) + ", " + watched.text();
}

void CallState::fail_with_caught() noexcept {
  if (!failure.empty()) return;
  try {
    std::string caught = "an exception of an unknown type";
    try {
      throw;
    } catch (const std::exception&) {
      caught = text_of_caught();
    } catch (...) {
    }
    failure = "this communicator has failed in " + text() + ": " + caught + "; expected a new one";
  } catch (const std::bad_alloc&) {
    failure = "has failed";  // as long as takes no memory
  }
}

void CallState::report_stall(Transport& transport, Clock::time_point start) {
  const bool within = position % 2 == 1;
  Stall stall{.operation = within ? watched.operation : "messages between calls",
              .rows = within ? watched.rows : 0,
              .columns = within ? watched.columns : 0,
              .type = watched.type,
              .call = position / 2,
              .rank = transport.rank()};
  stall.missing_ranks = transport.ranks_behind(position, std::max(0.1, watch.limit_seconds / 10));
  stall.waited_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  try {
    if (watch.on_stall) watch.on_stall(stall);
  } catch (...) {  // whatever it is, the other ranks do not throw it
    fail_with_caught();
    throw;
  }
  if (watch.throws) throw TransportError(stall.text());
}

}  // namespace dsop
