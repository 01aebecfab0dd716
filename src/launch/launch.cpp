#include "launch/launch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string_view>

#include <dsop/dsop.hpp>
#include <dsop/tcp.hpp>
#include <dsop/threads.hpp>

#include "base/error_of.hpp"
#include "base/shown.hpp"
#include "call/start_call.hpp"
#include "launch/mpi_world.hpp"
#include "launch/progress_line.hpp"
#include "patterns/agreed_errors.hpp"
#include "transport/launcher.hpp"

namespace dsop::launch {
namespace {

int print_error(const std::string& what) {  // one write, so that the ranks' lines do not mix
  std::cerr << "error: " + printable_lines(what) + '\n' << std::flush;
  return 1;
}

int status_of(const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const std::exception&) {
    return print_error(text_of_caught());
  }
}

Store named_store(const std::string& name) {
  constexpr std::string_view file = "file:";
  if (!name.starts_with(file)) throw ArgumentError("--store is \"" + shown(name) + "\", expected file:PATH");
  return file_store(name.substr(file.size()));
}

int run_over_tcp(const RankOptions& options, const std::function<void(Transport&)>& body) {
  const std::optional<StartedProcess> started = started_without_mpi();
  if (!started && (!options.rank || !options.ranks))
    return print_error("--transport tcp needs --rank and --ranks, or a launcher that sets RANK and WORLD_SIZE");
  const TcpOptions place{.rank = options.rank ? *options.rank : started->rank,
                         .ranks = options.ranks ? *options.ranks : started->ranks};
  try {
    body(*connect_over_tcp(named_store(options.store), place));
    return 0;
  } catch (const std::exception&) {
    print_caught(place.rank);
    return 1;
  }
}

void print_stall(const Stall& stall) {  // one write, so that the ranks' lines do not mix
  std::cerr << over_progress() + ("warning: " + stall.text()) + '\n' << std::flush;
}

}  // namespace

bool print_caught(int rank) {
  try {
    throw;
  } catch (const AgreedError& error) {
    if (rank == 0) print_error(error.what());
    return true;
  } catch (const std::exception&) {
    print_error("rank " + std::to_string(rank) + ": " + text_of_caught());
    return false;
  }
}

void keep_standard_descriptors() {
  int opened = 0;
  while (opened >= 0 && opened <= STDERR_FILENO) opened = open("/dev/null", O_RDONLY);
  if (opened > STDERR_FILENO) close(opened);
}

int run(const RankOptions& options, int default_ranks, const std::function<void(Transport&)>& body, ThreadLevel level) {
  const auto watched_body = [&](Transport& transport) {
    if (std::getenv("DSOP_STALL_SECONDS") == nullptr) set_stall_watch(transport, {.on_stall = print_stall});
    body(transport);
  };
  if (options.transport == "tcp") return run_over_tcp(options, watched_body);
  if (under_mpi_launcher()) return run_on_mpi_world(options.ranks, watched_body, level);
  if (const auto started = started_without_mpi(); started && !options.ranks)
    return refuse_to_run(started->text() +
                         ", expected --transport tcp --store file:PATH with a file that all ranks see, or --ranks for "
                         "threads of this process alone");
  return status_of([&] { run_on_threads(options.ranks.value_or(default_ranks), watched_body); });
}

int run_alone(const std::function<void()>& body) {
  return is_reporting_process() ? status_of(body) : 0;
}

int refuse_to_run(const std::string& why) {
  if (under_mpi_launcher())
    return run_on_mpi_world(
        std::nullopt, [&](Transport& transport) { agree_on_errors(transport, why); }, ThreadLevel::funneled);
  return print_error(why);
}

void on_all_ranks(Transport& transport, const std::function<void()>& body) {
  const std::string own_error = error_of(body);
  make_call(transport, [&] { agree_on_errors(transport, own_error); });
}

}  // namespace dsop::launch
