// A transport that lets its rank work instead of wait.
#pragma once

#include <utility>

#include <dsop/transport.hpp>

namespace dsop {

/// Hands everything on to another transport. While a request that is waited for is not done, it calls `work()`, which
/// does a piece and returns true, or returns false when nothing is left. Between two pieces messages progress.
template <class Work>
class WorkingTransport final : public TransportOver {
 public:
  WorkingTransport(Transport& inner, Work work) : TransportOver(inner), work_(std::move(work)) {}

  std::size_t wait(Request& request) override {
    while (!inner().test(request) && work_()) {
    }
    return inner().wait(request);
  }

 private:
  Work work_;
};

}  // namespace dsop
