// A transport that counts what passes through it.
#pragma once

#include <cstddef>

#include <dsop/transport.hpp>

namespace dsop {

/// What one rank has sent.
struct Traffic {
  std::size_t messages = 0;
  std::size_t bytes = 0;

  Traffic operator+(const Traffic& other) const { return {messages + other.messages, bytes + other.bytes}; }
  /// Becomes the larger number of each.
  void raise_to(const Traffic& other);
  bool operator==(const Traffic&) const = default;
};

/// Hands everything on to another transport, which must outlive it, and counts what its rank sends. The exchange of
/// headers that opens each call is counted apart. What native collectives send can't be seen.
class CountingTransport final : public Transport {
 public:
  explicit CountingTransport(Transport& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  int node() const override { return inner_.node(); }
  std::string name() const override { return inner_.name(); }
  Machine default_machine() const override { return inner_.default_machine(); }
  bool has_native_collectives() const override { return inner_.has_native_collectives(); }
  void native_allreduce(std::span<std::byte> data, DataType type) override { inner_.native_allreduce(data, type); }
  void native_allgather(std::span<std::byte> data, std::span<const std::size_t> bounds_bytes) override {
    inner_.native_allgather(data, bounds_bytes);
  }

  bool allows_progress_thread() const override { return inner_.allows_progress_thread(); }
  CallState& calls() override { return inner_.calls(); }
  void come_to(std::uint64_t position) override { inner_.come_to(position); }
  std::vector<int> ranks_behind(std::uint64_t position, double seconds) override {
    return inner_.ranks_behind(position, seconds);
  }

  const Traffic& payload() const { return payload_; }
  const Traffic& agreement() const { return agreement_; }

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag) override;
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override;
  // The requests are the inner transport's, so these are never reached through this one.
  bool is_done(std::size_t) override { return true; }
  void finish(std::size_t) override {}
  void withdraw(std::size_t) noexcept override {}

  Transport& inner_;
  Traffic payload_;
  Traffic agreement_;
};

}  // namespace dsop
