// How a rank waits for its messages over MPI, and whether they travel in pieces.
#include <algorithm>
#include <chrono>
#include <thread>

#include "transport/call_state.hpp"
#include "transport/mpi_transport.hpp"
#include "transport/stall.hpp"

namespace dsop {
namespace {

using std::chrono::microseconds;

// The progress thread would take the core from the program's arithmetic, until the program itself waits.
bool gives_way(const CallQueue& queue) {
  return queue.on_progress_thread() && !queue.is_awaited();
}

// Between two tests for a message. The program's own thread tests at once, as MPI_Waitall does, and now and then offers
// the core to whoever else could run: Open MPI does so only where it was told to, MPICH never. A thread that gives way
// sleeps, for longer and longer while nothing moves.
class Pause {
 public:
  explicit Pause(const CallQueue& queue) : queue_(queue) {}

  /// Whether it is time to look at the clock.
  bool take() {
    constexpr int tests_a_look = 64;
    constexpr int tests_before_sleep = 8;
    ++tests_;
    if (!gives_way(queue_) || tests_ < tests_before_sleep) {
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

  const CallQueue& queue_;
  int tests_ = 0;
  microseconds sleep_{20};
};

}  // namespace

const bool cuts_messages = true;

bool MpiTransport::is_done(std::size_t slot) {
  for (const MPI_Request& piece : slots_[slot].pieces) {
    int done = 0;
    check_mpi(MPI_Request_get_status(piece, &done, MPI_STATUS_IGNORE), "MPI_Request_get_status");
    if (done == 0) return false;
  }
  return true;
}

int MpiTransport::wait_for_pieces(Message& message) {
  constexpr std::chrono::milliseconds between_answers{10};
  // Inside a node a short message comes sooner than the clock is read.
  const int tests_before_clock = gives_way(*calls().queue) ? 1 : 32;
  const auto count = static_cast<int>(message.pieces.size());
  int done = 0;
  int code = MPI_SUCCESS;
  for (int tests = 0; tests < tests_before_clock; ++tests) {
    code = MPI_Testall(count, message.pieces.data(), &done, message.statuses.data());
    if (done != 0 || code != MPI_SUCCESS) return code;
  }

  WatchedWait wait(*this);
  Pause pause(*calls().queue);
  WatchedWait::Clock::time_point next_answer = WatchedWait::Clock::now() + between_answers;
  for (;;) {
    code = MPI_Testall(count, message.pieces.data(), &done, message.statuses.data());
    if (done != 0 || code != MPI_SUCCESS) return code;
    if (!pause.take()) continue;
    const WatchedWait::Clock::time_point now = WatchedWait::Clock::now();
    if (now >= wait.deadline()) wait.look();
    if (now < next_answer) continue;
    roll_call_->answer(calls().watched.position);
    next_answer = now + between_answers;
  }
}

}  // namespace dsop
