// What a communicator remembers between calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "planning/call_queue.hpp"
#include "planning/collective_executor.hpp"
#include "planning/executor.hpp"
#include "planning/sparse_executor.hpp"
#include "planning/stall.hpp"

namespace dsop {

struct CallState {
  CallState() = default;
  CallState(const CallState&) = delete;
  ~CallState() { queue->close(); }

  std::uint64_t calls = 0;  ///< so far
  Executor<float> f32;      ///< dsop()'s own plan and buffers
  Executor<double> f64;
  SparseExecutor<float> sparse_f32;  ///< sparse_allreduce()'s
  SparseExecutor<double> sparse_f64;
  CollectiveExecutor<float> collectives_f32;
  CollectiveExecutor<double> collectives_f64;
  std::string parameter;  ///< of a synchronizer's, that calls are made for; errors name it
  WatchedCall watched;
  std::shared_ptr<CallQueue> queue = std::make_shared<CallQueue>();
};

}  // namespace dsop
