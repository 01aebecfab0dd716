// The calls of one communicator that were started and are not complete.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <dsop/pending.hpp>

#include "transport/carried_calls.hpp"

namespace dsop {

class CallQueue;
struct CallState;

struct StartedCall {
  std::shared_ptr<CallQueue> queue;
  std::function<void()> body;
  std::size_t threads = 1;        ///< OpenMP's, for the progress thread
  std::exception_ptr error = {};  ///< what body threw, once complete
  bool complete = false;
};

/// Runs calls in the order of their start, one at a time: on a thread of its own from the first start on, or, without
/// it, on the thread of whoever waits. All but the thread itself are called by one thread at a time. What would wait
/// for the call that it is called from, as on_stall might, throws ArgumentError. In a forked child start() and
/// wait_for_all() throw TransportError if there was a thread, and the others return at once.
class CallQueue : public CallThread, public std::enable_shared_from_this<CallQueue> {
 public:
  /// `on_thread` is the same in all calls. If the system has no more threads, it is as if it were false.
  std::shared_ptr<StartedCall> start(std::function<void()> body, bool on_thread);
  /// Returns when the call, and so all that were started before, are complete. Throws nothing of theirs.
  void wait(const StartedCall& call);
  bool is_complete(const StartedCall& call);
  /// Waits for all. Whoever makes a call that was not started comes here first, and so keeps the order.
  void wait_for_all();
  /// Waits for all and ends the thread.
  void close() noexcept;

  /// The calling thread begins a call, which `call` describes while it lasts; null: it has ended.
  void set_running(const CallState* call);

 private:
  /// In a process that was forked from the one in which the thread is, which may have held the lock.
  bool has_lost_thread() const { return thread_.joinable() && getpid() != process_; }
  void expect_thread() const;
  void refuse_within_call() const;
  void run_all_on_thread();
  void run_first(std::unique_lock<std::mutex>& lock);
  template <class Condition>
  void wait_until(Condition condition);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<StartedCall>> calls_;  ///< the first may be running
  bool closing_ = false;
  const CallState* running_ = nullptr;  ///< on running_thread_, if any
  std::atomic<std::thread::id> running_thread_;
  std::thread thread_;
  pid_t process_ = getpid();
};

}  // namespace dsop
