// The calls of one step.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "call/start_call.hpp"

namespace dsop::synchronizer {

/// Calls run in the order of their start. All ranks see the first error that any of them has at the same call, and none
/// runs after it, so that nobody waits for a rank that has given up.
class StepCalls {
 public:
  StepCalls(Transport& transport, bool at_once) : transport_(transport), at_once_(at_once) {}
  StepCalls(const StepCalls&) = delete;
  ~StepCalls() {
    const Uninterrupted uninterrupted;
    wait_quietly();
  }

  /// `call()` runs in its turn, or is held back until finish() if neither this nor everything is to start at once.
  template <class Body>
  void start(Body call, bool at_once = false) {
    if (at_once_ || at_once)
      enqueue(std::move(call));
    else
      held_back_.push_back(std::move(call));
  }

  /// Returns when what was started is complete, and throws the error that ended it.
  void finish() {
    for (auto& call : held_back_) enqueue(std::move(call));
    held_back_.clear();
    wait_quietly();
    if (!error_ && last_ && last_->error) error_ = last_->error;
    last_.reset();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  /// Ends the step as if one of its calls had failed so.
  void fail(std::exception_ptr error) { error_ = std::move(error); }
  void wait_quietly() const {
    if (last_) last_->queue->wait(*last_);
  }
  /// Runs `call` now, unless the step has failed; its error ends the step.
  template <class Body>
  void run(const Body& call) {
    if (error_) return;
    try {
      call();
    } catch (...) {
      error_ = std::current_exception();
      throw;
    }
  }

 private:
  template <class Body>
  void enqueue(Body call) {
    last_ = start_call(transport_, [this, call = std::move(call)] { run(call); });
  }

  Transport& transport_;
  bool at_once_;
  std::vector<std::function<void()>> held_back_;
  std::shared_ptr<StartedCall> last_;
  std::exception_ptr error_;  // written by whoever runs the calls
};

}  // namespace dsop::synchronizer
