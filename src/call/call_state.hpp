// What calls remember between two calls on a communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "call/call_queue.hpp"
#include "call/stall.hpp"
#include "transport/carried_calls.hpp"

namespace dsop {

struct CallState final : CarriedCalls {
  CallState() { thread = queue; }
  ~CallState() override { queue->close(); }
  void end(Transport& transport) noexcept override {
    queue->close();
    if (at_end) std::exchange(at_end, {})(transport);
  }
  void report_stall(Transport& transport, Clock::time_point start) override;

  std::uint64_t calls = 0;  ///< so far
  /// What calls keep, each under a mark of its type: see attachment().
  std::vector<std::pair<const void*, std::shared_ptr<void>>> kept;
  /// What the environment asks for; throws nothing.
  std::function<void(Transport&)> at_end;
  StallWatch watch;
  bool has_watch = false;  ///< set_stall_watch() was called
  WatchedCall watched = {};

  /// "call 3, outer product 5 x 6 f32": the call that is under way, or the last.
  std::string text() const;

  /// Within a handler: no call is made any more, since this rank has left one that others may still be in.
  void fail_with_caught() noexcept;
  std::shared_ptr<CallQueue> queue = std::make_shared<CallQueue>();
  /// Ends with the transport, so that who keeps a pointer to that can ask.
  std::shared_ptr<const void> life = std::make_shared<char>();
};

}  // namespace dsop
