// Makes calls, and starts calls.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <dsop/errors.hpp>
#include <dsop/pending.hpp>
#include <dsop/transport.hpp>

#include "call/call_state.hpp"
#include "kernels/float_mode.hpp"
#include "transport/interrupt.hpp"

namespace dsop {

/// While it lives, this thread is within a call: in the default float mode, so that ranks, threads and the progress
/// thread round alike. Throws TransportError where an earlier call has failed.
class RunningCall {
 public:
  explicit RunningCall(CallState& calls) : queue_(*calls.queue) {
    if (!calls.failure.empty()) throw TransportError(calls.failure);
    queue_.set_running(&calls);
  }
  RunningCall(const RunningCall&) = delete;
  ~RunningCall() { queue_.set_running(nullptr); }

 private:
  CallQueue& queue_;
  kernels::DefaultFloatMode mode_;
};

/// Returns what `body` does, a whole call of a public function on this communicator. If it throws what other ranks need
/// not throw, the communicator is of no more use.
template <class Body>
decltype(auto) run_call(Transport& transport, const Body& body) {
  CallState& calls = transport.calls();
  const RunningCall running(calls);
  try {
    return body();
  } catch (const TransportError&) {
    calls.fail_with_caught();
    throw;
  } catch (const Error&) {  // all ranks throw it
    throw;
  } catch (...) {
    calls.fail_with_caught();
    throw;
  }
}

/// run_call() after all that were started before.
template <class Body>
decltype(auto) make_call(Transport& transport, const Body& body) {
  transport.calls().queue->wait_for_all();
  return run_call(transport, body);
}

/// Of an object that sends nothing when it is made: that counts as a call, so that its number is its own.
inline std::uint64_t number_of_new_object(Transport& transport) {
  transport.calls().queue->wait_for_all();
  return ++transport.calls().calls;
}

/// Starts `body`: it runs after all that were started before, on the progress thread, or when somebody waits for it. A
/// rank alone has no messages that could travel meanwhile, and a thread would only take processor time from the
/// program.
template <class Body>
std::shared_ptr<StartedCall> start_call(Transport& transport, Body body) {
  return transport.calls().queue->start([&transport, body = std::move(body)] { run_call(transport, body); },
                                        transport.size() > 1 && transport.allows_progress_thread());
}

/// The last call that was started on an object, whose end waits for it: the last of its members.
class LastStarted {
 public:
  LastStarted() = default;
  LastStarted(const LastStarted&) = delete;
  ~LastStarted() {
    const Uninterrupted uninterrupted;
    wait();
  }

  template <class Body>
  Pending start(Transport& transport, Body body) {
    call_ = start_call(transport, std::move(body));
    return Pending(call_);
  }
  /// Throws nothing of the call's.
  void wait() const {
    if (call_) call_->queue->wait(*call_);
  }

 private:
  std::shared_ptr<StartedCall> call_;
};

}  // namespace dsop
