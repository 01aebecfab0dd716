// What a transport looks at of the calls that it carries. Whoever makes calls has more of them: see CallState.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <dsop/machine.hpp>
#include <dsop/transport.hpp>

namespace dsop {

/// On which thread calls run.
struct CallThread {
  std::atomic<bool> is_progress_thread = false;  ///< the library's own
  std::atomic<bool> is_awaited = false;          ///< the program's thread has come to wait, and so leaves its core

  /// It would take the core from the program's arithmetic, until the program itself waits.
  bool gives_way() const { return is_progress_thread && !is_awaited; }
};

struct CarriedCalls {
  using Clock = std::chrono::steady_clock;

  CarriedCalls() = default;
  CarriedCalls(const CarriedCalls&) = delete;
  virtual ~CarriedCalls() = default;
  /// Completes those that were started. The transport ends; messages can still travel.
  virtual void end(Transport& transport) noexcept = 0;
  /// A wait since `start` has taken longer than `stall_limit`. Throws if it is to end.
  virtual void report_stall(Transport& transport, Clock::time_point start) = 0;

  std::uint64_t position = 0;         ///< 2 c + 1 within call number c, 2 c before it
  std::string parameter;              ///< of a synchronizer's, that calls are made for; errors name it
  std::string failure;                ///< with what every call is refused; empty: none has failed
  std::size_t piggybacked_bytes = 0;  ///< so far: payload that this rank has sent in agreements
  Clock::duration stall_limit = Clock::duration::max();
  std::shared_ptr<const CallThread> thread;
  /// Null until it is measured. A duplicate of the communicator has it too, which another thread may be making.
  std::atomic<std::shared_ptr<const Machine>> measured_machine;
};

/// Those of a transport that has carried none.
std::shared_ptr<CarriedCalls> make_carried_calls();

}  // namespace dsop
