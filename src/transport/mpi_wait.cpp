// How a rank waits for its messages over MPI, and whether they travel in pieces.
#include <algorithm>
#include <chrono>
#include <thread>

#include "transport/carried_calls.hpp"
#include "transport/mpi_transport.hpp"
#include "transport/watched_wait.hpp"

namespace dsop {
namespace {

using std::chrono::microseconds;

// Between two tests for a message. The program's own thread tests at once, as MPI_Waitall does, and now and then offers
// the core to whoever else could run: Open MPI does so only where it was told to, MPICH never. A thread that gives way
// sleeps, for longer and longer while nothing moves.
class Pause {
 public:
  explicit Pause(const CallThread& thread) : thread_(thread) {}

  /// Whether it is time to look at the clock.
  bool take() {
    constexpr int tests_a_look = 64;
    constexpr int tests_before_sleep = 8;
    ++tests_;
    if (!thread_.gives_way() || tests_ < tests_before_sleep) {
      if (tests_ % tests_a_look != 0) return false;
      std::this_thread::yield();
      return true;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(2 * sleep_, longest_sleep);
    return true;
  }

 private:
  static constexpr microseconds longest_sleep{1000};

  const CallThread& thread_;
  int tests_ = 0;
  microseconds sleep_{20};
};

}  // namespace

const bool cuts_messages = true;

bool MpiTransport::pieces_are_done(Message& message) {
  message.statuses.resize(message.pieces.size());
  for (std::size_t i = 0; i < message.pieces.size(); ++i) {
    int done = 0;
    check_mpi(MPI_Request_get_status(message.pieces[i], &done, &message.statuses[i]), "MPI_Request_get_status");
    if (done == 0) return false;
  }
  return true;
}

int MpiTransport::wait_for_pieces(Message& message) {
  constexpr std::chrono::milliseconds between_answers{10};
  // Inside a node a short message comes sooner than the clock is read.
  const CallThread& thread = *carried().thread;
  const int tests_before_clock = thread.gives_way() ? 1 : 32;
  message.statuses.resize(message.pieces.size());
  const auto count = static_cast<int>(message.pieces.size());
  int done = 0;
  int code = MPI_SUCCESS;
  for (int tests = 0; tests < tests_before_clock; ++tests) {
    code = MPI_Testall(count, message.pieces.data(), &done, message.statuses.data());
    if (done != 0 || code != MPI_SUCCESS) return code;
  }

  WatchedWait wait(*this);
  Pause pause(thread);
  WatchedWait::Clock::time_point next_answer = WatchedWait::Clock::now() + between_answers;
  for (;;) {
    code = MPI_Testall(count, message.pieces.data(), &done, message.statuses.data());
    if (done != 0 || code != MPI_SUCCESS) return code;
    if (!pause.take()) continue;
    const WatchedWait::Clock::time_point now = WatchedWait::Clock::now();
    if (now >= wait.deadline()) wait.look();
    if (now < next_answer) continue;
    roll_call_->answer(carried().position);
    next_answer = now + between_answers;
  }
}

}  // namespace dsop
