// Starts calls.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <dsop/pending.hpp>
#include <dsop/transport.hpp>

#include "transport/call_state.hpp"
#include "transport/interrupt.hpp"

namespace dsop {

/// Starts `body`: it runs after all that were started before, on the progress thread, or when somebody waits for it. A
/// rank alone has no messages that could travel meanwhile, and a thread would only take processor time from the
/// program.
inline std::shared_ptr<StartedCall> start_call(Transport& transport, std::function<void()> body) {
  return transport.calls().queue->start(std::move(body), transport.size() > 1 && transport.allows_progress_thread());
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

  Pending start(Transport& transport, std::function<void()> body) {
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
