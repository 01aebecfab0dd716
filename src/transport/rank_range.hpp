// Some consecutive ranks of a transport, as if there were no others.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <dsop/transport.hpp>

namespace dsop {

/// Rank i of it is rank first + i of `inner`, which must outlive it; only these `size` ranks may use it.
class RankRange final : public Transport {
 public:
  RankRange(Transport& inner, int first, int size) : inner_(inner), first_(first), size_(size) {}

  int rank() const override { return inner_.rank() - first_; }
  int size() const override { return size_; }
  std::string name() const override { return inner_.name(); }
  Machine default_machine() const override { return inner_.default_machine(); }
  void wait(Request& request) override { inner_.wait(request); }

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag) override {
    return start_send_on(inner_, data, first_ + to, tag);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override {
    return start_receive_on(inner_, data, first_ + from, tag);
  }
  // The requests are the inner transport's, so these are never reached through this one.
  bool is_done(std::size_t) override { return true; }
  void finish(std::size_t) override {}
  void withdraw(std::size_t) noexcept override {}

  Transport& inner_;
  int first_;
  int size_;
};

}  // namespace dsop
