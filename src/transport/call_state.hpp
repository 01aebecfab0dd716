// What a transport knows of the calls that it carries.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/call_queue.hpp"
#include "transport/stall.hpp"

namespace dsop {

struct CallState {
  CallState() = default;
  CallState(const CallState&) = delete;
  ~CallState() { queue->close(); }

  std::uint64_t calls = 0;          ///< so far
  std::shared_ptr<void> executors;  ///< what these remember: see executors_of()
  std::string parameter;            ///< of a synchronizer's, that calls are made for; errors name it
  WatchedCall watched;
  std::shared_ptr<CallQueue> queue = std::make_shared<CallQueue>();
};

}  // namespace dsop
