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

/// Hands everything on to another transport, which must outlive it, and counts what its rank sends. The exchange
/// that opens each call is counted apart; of factors that ride in it the bytes count as payload. What native
/// collectives send can't be seen.
class CountingTransport final : public TransportOver {
 public:
  explicit CountingTransport(Transport& inner);

  int node() const override { return inner().node(); }
  bool has_native_collectives() const override { return inner().has_native_collectives(); }
  void native_allreduce(std::span<std::byte> data, DataType type) override { inner().native_allreduce(data, type); }
  void native_allgather(std::span<std::byte> data, std::span<const std::size_t> bounds_bytes) override {
    inner().native_allgather(data, bounds_bytes);
  }
  void native_broadcast(std::span<std::byte> data, int root) override { inner().native_broadcast(data, root); }
  void native_reduce(std::span<std::byte> data, DataType type, int root) override {
    inner().native_reduce(data, type, root);
  }

  bool allows_progress_thread() const override { return inner().allows_progress_thread(); }
  CallState& calls() override { return inner().calls(); }
  void come_to(std::uint64_t position) override { inner().come_to(position); }
  std::vector<int> ranks_behind(std::uint64_t position, double seconds) override {
    return inner().ranks_behind(position, seconds);
  }

  Traffic payload() const;
  Traffic agreement() const;

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag) override;

  std::size_t ridden_bytes() const;

  Traffic payload_;
  Traffic agreement_;
  const CallState& state_;
  std::size_t ridden_bytes_before_;
};

}  // namespace dsop
