// A transport that lets its rank work instead of wait.
#pragma once

#include <span>
#include <string>
#include <utility>

#include <dsop/transport.hpp>

namespace dsop {

/// Hands everything on to another transport. While a request that is waited for is not done, it calls `work()`, which
/// does a piece and returns true, or returns false when nothing is left. Between two pieces messages progress.
template <class Work>
class WorkingTransport final : public Transport {
 public:
  WorkingTransport(Transport& inner, Work work) : inner_(inner), work_(std::move(work)) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string name() const override { return inner_.name(); }
  Machine default_machine() const override { return inner_.default_machine(); }

  void wait(Request& request) override {
    while (!inner_.test(request) && work_()) {
    }
    inner_.wait(request);
  }

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag) override {
    return start_send_on(inner_, data, to, tag);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override {
    return start_receive_on(inner_, data, from, tag);
  }
  // The requests are the inner transport's, so these are never reached through this one.
  bool is_done(std::size_t) override { return true; }
  void finish(std::size_t) override {}
  void withdraw(std::size_t) noexcept override {}

  Transport& inner_;
  Work work_;
};

}  // namespace dsop
