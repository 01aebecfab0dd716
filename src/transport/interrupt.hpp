// Waits that a program may end, for example because its user has pressed Ctrl-C.
#pragma once

#include <chrono>

#include <dsop/errors.hpp>

namespace dsop {

/// What a wait throws that the program has ended.
class Interrupted final : public TransportError {
  using TransportError::TransportError;
};

/// Whether to end a wait of this thread.
using InterruptCheck = int (*)();

/// Waits of this thread ask `check` after each interval; null: no more.
void set_interrupt_check(InterruptCheck check);
bool has_interrupt_check();
/// While it lives, this thread's waits ask nobody: for destructors, which can't throw.
class Uninterrupted {
 public:
  Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  ~Uninterrupted();

 private:
  InterruptCheck check_;
};

/// Throws Interrupted if this thread's check says so.
void check_interrupt();

constexpr std::chrono::milliseconds interrupt_interval{100};

}  // namespace dsop
