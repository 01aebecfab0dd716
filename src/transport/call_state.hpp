// What a transport knows of the calls that it carries.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dsop/machine.hpp>

#include "transport/call_queue.hpp"
#include "transport/stall.hpp"

namespace dsop {

struct CallState {
  CallState() = default;
  CallState(const CallState&) = delete;
  ~CallState() { queue->close(); }

  std::uint64_t calls = 0;  ///< so far
  /// What calls keep, each under a mark of its type: see kept().
  std::vector<std::pair<const void*, std::shared_ptr<void>>> kept;
  std::string parameter;         ///< of a synchronizer's, that calls are made for; errors name it
  std::size_t ridden_bytes = 0;  ///< so far: payload that this rank has sent in agreements
  WatchedCall watched;
  std::string failure = {};  ///< with what every call is refused; empty: none has failed

  /// Within a handler: no call is made any more, since this rank has left one that others may still be in.
  void fail_with_caught() noexcept;
  /// Null until it is measured. A duplicate of the communicator has it too, which another thread may be making.
  std::atomic<std::shared_ptr<const Machine>> measured_machine;
  std::shared_ptr<CallQueue> queue = std::make_shared<CallQueue>();
  /// Ends with the transport, so that who keeps a pointer to that can ask.
  std::shared_ptr<const void> life = std::make_shared<char>();
};

}  // namespace dsop
