// A transport that lets its rank work instead of wait.
#pragma once

#include <utility>

#include <dsop/transport.hpp>

namespace dsop {

/// Hands everything on to another transport. While a request that is waited for is not done, it calls `work()`, which
/// does a piece and returns true, or returns false when nothing is left. Between two pieces messages progress. Both
/// ranks of a message must send and receive it through one of these.
template <class Work>
class WorkingTransport final : public TransportOver {
 public:
  WorkingTransport(Transport& inner, Work work) : TransportOver(inner), work_(std::move(work)) {}

  void wait(Request& request) override {
    while (!inner().test(request) && work_()) {
    }
    inner().wait(request);
  }

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag) override {
    return TransportOver::start_send(data, to, Tag::unattended);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag) override {
    return TransportOver::start_receive(data, from, Tag::unattended);
  }

  Work work_;
};

}  // namespace dsop
