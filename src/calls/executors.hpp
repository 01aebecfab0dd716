// What dsop's calls remember of those before on a communicator.
#pragma once

#include <memory>

#include <dsop/transport.hpp>

#include "calls/collective_executor.hpp"
#include "calls/executor.hpp"
#include "calls/sparse_executor.hpp"
#include "transport/call_state.hpp"

namespace dsop {

struct Executors {
  Executor<float> f32;  ///< dsop()'s own plan and buffers
  Executor<double> f64;
  SparseExecutor<float> sparse_f32;  ///< sparse_allreduce()'s
  SparseExecutor<double> sparse_f64;
  CollectiveExecutor<float> collectives_f32;
  CollectiveExecutor<double> collectives_f64;
};

/// The communicator's; made on first use.
inline Executors& executors_of(Transport& transport) {
  std::shared_ptr<void>& executors = transport.calls().executors;
  if (!executors) executors = std::make_shared<Executors>();
  return *static_cast<Executors*>(executors.get());
}

}  // namespace dsop
