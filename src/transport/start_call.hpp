// Starts calls.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <dsop/transport.hpp>

#include "transport/call_state.hpp"

namespace dsop {

/// Starts `body`: it runs after all that were started before, on the progress thread, or when somebody waits for it. A
/// rank alone has no messages that could travel meanwhile, and a thread would only take processor time from the
/// program.
inline std::shared_ptr<StartedCall> start_call(Transport& transport, std::function<void()> body) {
  return transport.calls().queue->start(std::move(body), transport.size() > 1 && transport.allows_progress_thread());
}

}  // namespace dsop
