#include "call/call_queue.hpp"

#include <exception>
#include <utility>

#include <dsop/errors.hpp>

#include "base/signals.hpp"
#include "call/call_state.hpp"
#include "call/short_turns.hpp"
#include "kernels/threads.hpp"
#include "transport/interrupt.hpp"

namespace dsop {

std::shared_ptr<StartedCall> CallQueue::start(std::function<void()> body, bool on_thread) {
  expect_thread();
  refuse_within_call();
  auto call = std::make_shared<StartedCall>(StartedCall{shared_from_this(), std::move(body), kernels::thread_count()});
  const std::lock_guard lock(mutex_);
  calls_.push_back(call);
  try {
    const NoSignals for_the_thread;
    if (on_thread && !thread_.joinable()) thread_ = std::thread([this] { run_all_on_thread(); });
  } catch (const std::exception&) {  // no more threads, or no memory: this call runs when it is waited for
  }
  changed_.notify_all();
  return call;
}

void CallQueue::expect_thread() const {
  if (has_lost_thread())
    throw TransportError(
        "this process was forked from a rank's, whose calls it has not; expected a call of that process");
}

void CallQueue::wait(const StartedCall& call) {
  if (has_lost_thread()) return;
  wait_until([&] { return call.complete; });
}

bool CallQueue::is_complete(const StartedCall& call) {
  if (!thread_.joinable()) wait(call);
  if (has_lost_thread()) return true;
  const std::lock_guard lock(mutex_);
  return call.complete;
}

void CallQueue::wait_for_all() {
  refuse_within_call();
  if (!thread_.joinable() && calls_.empty()) return;  // nobody else looks at them
  expect_thread();
  wait_until([&] { return calls_.empty(); });
}

void CallQueue::set_running(const CallState* call) {
  running_ = call;
  running_thread_ = call != nullptr ? std::this_thread::get_id() : std::thread::id();
}

void CallQueue::refuse_within_call() const {
  if (running_thread_ == std::this_thread::get_id())
    throw ArgumentError("the communicator is within " + running_->text() +
                        ", which on_stall reports: expected no call from there on the same communicator");
}

void CallQueue::close() noexcept {
  if (has_lost_thread()) {
    std::make_unique<std::shared_ptr<CallQueue>>(shared_from_this()).release();  // its end would wait for the thread
    return;
  }
  const Uninterrupted uninterrupted;
  wait_for_all();
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

namespace {

class Awaited {
 public:
  explicit Awaited(std::atomic<bool>& awaited) : awaited_(awaited) { awaited_ = true; }
  Awaited(const Awaited&) = delete;
  ~Awaited() { awaited_ = false; }

 private:
  std::atomic<bool>& awaited_;
};

}  // namespace

template <class Condition>
void CallQueue::wait_until(Condition condition) {
  std::unique_lock lock(mutex_);
  if (condition()) return;  // also where on_stall ends an object whose calls are complete
  refuse_within_call();
  if (!thread_.joinable()) {
    while (!condition()) run_first(lock);
    return;
  }
  const Awaited awaited(is_awaited);
  if (!has_interrupt_check()) return changed_.wait(lock, condition);
  while (!changed_.wait_for(lock, interrupt_interval, condition)) {
    lock.unlock();
    check_interrupt();
    lock.lock();
  }
}

void CallQueue::run_all_on_thread() {
  take_short_turns();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !calls_.empty(); });
    if (calls_.empty()) return;
    kernels::set_thread_count(static_cast<int>(calls_.front()->threads));
    is_progress_thread = true;
    run_first(lock);
    is_progress_thread = false;
  }
}

// The call is taken out only when it has run, so that an empty queue is an idle one. Its exception is held by nobody
// else when it is handed over.
void CallQueue::run_first(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<StartedCall> call = calls_.front();
  lock.unlock();
  std::exception_ptr error;
  try {
    call->body();
  } catch (...) {
    error = std::current_exception();
  }
  call->body = {};
  lock.lock();
  call->error = std::move(error);
  call->complete = true;
  calls_.pop_front();
  changed_.notify_all();
}

Pending::Pending(std::shared_ptr<StartedCall> call) : call_(std::move(call)) {}
Pending::Pending(Pending&& other) noexcept = default;

Pending& Pending::operator=(Pending&& other) noexcept {
  Pending former(std::move(*this));
  call_ = std::move(other.call_);
  return *this;
}

Pending::~Pending() {
  const Uninterrupted uninterrupted;
  try {
    wait();
  } catch (...) {  // nobody asked how it ended
  }
}

void Pending::wait() {
  const std::shared_ptr<StartedCall> call = std::exchange(call_, nullptr);
  if (!call) return;
  call->queue->wait(*call);
  if (!call->complete)
    throw TransportError("a call that was started before this process was forked is not complete here");
  if (call->error) std::rethrow_exception(std::exchange(call->error, nullptr));
}

bool Pending::test() {
  if (call_ && !call_->queue->is_complete(*call_)) return false;
  wait();
  return true;
}

}  // namespace dsop
