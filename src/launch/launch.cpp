#include "launch/launch.hpp"

#include <charconv>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <sstream>
#include <string_view>

#include <dsop/dsop.hpp>
#include <dsop/threads.hpp>

#include "base/error_of.hpp"
#include "calls/agreed_errors.hpp"
#include "launch/mpi_world.hpp"
#include "transport/call_state.hpp"

namespace dsop::launch {
namespace {

double stall_seconds() {
  const char* const variable = std::getenv("DSOP_STALL_SECONDS");
  if (variable == nullptr) return StallWatch().limit_seconds;
  const std::string_view text(variable);
  double seconds = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0))
    throw ArgumentError(std::string("DSOP_STALL_SECONDS is \"").append(text).append("\", expected seconds, 0 or more"));
  return seconds;
}

int status_of(const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
  }
  return 1;
}

void print_stall(const Stall& stall) {  // one write, so that the ranks' lines do not mix
  std::cerr << (std::ostringstream() << "warning: " << stall.text() << '\n').str() << std::flush;
}

}  // namespace

int run(std::optional<int> ranks, int default_ranks, const std::function<void(Transport&)>& body, ThreadLevel level) {
  const auto watched_body = [&](Transport& transport) {
    StallWatch watch{.on_stall = print_stall};
    on_all_ranks(transport, [&] { watch.limit_seconds = stall_seconds(); });
    set_stall_watch(transport, watch);
    body(transport);
  };
  if (under_mpi_launcher()) return run_on_mpi_world(ranks, watched_body, level);
  return status_of([&] { run_on_threads(ranks.value_or(default_ranks), watched_body); });
}

int run_alone(const std::function<void()>& body) {
  return speaks() ? status_of(body) : 0;
}

int refuse_to_run(const std::string& why) {
  if (under_mpi_launcher())
    return run_on_mpi_world(
        std::nullopt, [&](Transport& transport) { agree_on_errors(transport, why); }, ThreadLevel::funneled);
  std::cerr << "error: " << why << '\n';
  return 1;
}

void on_all_ranks(Transport& transport, const std::function<void()>& body) {
  const std::string own_error = error_of(body);
  transport.calls().queue->wait_for_all();
  agree_on_errors(transport, own_error);
}

}  // namespace dsop::launch
