// The public call.
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <dsop/dsop.hpp>

#include "base/shown.hpp"
#include "call/call_state.hpp"

namespace dsop {
namespace {

void take_watch(CallState& calls, StallWatch watch) {
  using Clock = CarriedCalls::Clock;
  constexpr double for_ever_seconds = 1e9;
  const bool ends =
      (watch.on_stall || watch.throws) && watch.limit_seconds > 0 && watch.limit_seconds < for_ever_seconds;
  calls.stall_limit =
      ends ? std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(watch.limit_seconds))
           : Clock::duration::max();
  calls.watch = std::move(watch);
}

void print_stall(const Stall& stall) {  // one write, so that the ranks' lines do not mix
  std::cerr << "warning: " + stall.text() + '\n' << std::flush;
}

}  // namespace

static std::optional<double> stall_seconds_of_environment() {
  const char* const variable = std::getenv("DSOP_STALL_SECONDS");
  if (variable == nullptr) return std::nullopt;
  const std::string_view text(variable);
  double seconds = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0))
    throw ArgumentError(
        std::string("DSOP_STALL_SECONDS is \"").append(shown(text)).append("\", expected seconds, 0 or more"));
  return seconds;
}

void watch_as_environment_says(Transport& transport) {
  if (transport.calls().has_watch) return;
  if (const auto seconds = stall_seconds_of_environment())
    take_watch(transport.calls(), {.limit_seconds = *seconds, .on_stall = print_stall});
}

void set_stall_watch(Communicator communicator, StallWatch watch) {
  if (!(watch.limit_seconds >= 0)) {
    std::ostringstream text;
    text << "limit_seconds is " << watch.limit_seconds << ", expected 0 or more";
    throw ArgumentError(text.str());
  }
  CallState& calls = communicator.transport().calls();
  calls.queue->wait_for_all();
  take_watch(calls, std::move(watch));
  calls.has_watch = true;
}

}  // namespace dsop
