// A transport that counts what passes through it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <dsop/transport.hpp>

namespace dsop {

/// What one rank has sent.
struct Traffic {
  std::size_t messages = 0;
  std::size_t bytes = 0;

  Traffic operator+(const Traffic& other) const { return {messages + other.messages, bytes + other.bytes}; }
  /// Becomes the larger number of each.
  void raise_to(const Traffic& other) {
    messages = std::max(messages, other.messages);
    bytes = std::max(bytes, other.bytes);
  }
  bool operator==(const Traffic&) const = default;
};

/// Hands everything on to another transport, which must outlive it, and counts what its rank sends. The exchange
/// that opens each call is counted apart, and so are the messages by which a machine is measured; of factors that ride
/// in the exchange the bytes count as payload. What native collectives send can't be seen.
class CountingTransport final : public TransportOver {
 public:
  explicit CountingTransport(Transport& inner);

  Traffic payload() const;
  Traffic agreement() const;
  /// By which a machine was measured.
  Traffic probe() const { return probe_; }
  /// Of the payload, without what rode in exchanges: the bytes that leave this rank's group on a level. groups[r] is
  /// rank r's; of nodes, for example, its node.
  std::size_t payload_bytes_leaving(std::span<const int> groups) const;

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag, Length length) override;

  std::size_t piggybacked_bytes() const;

  Traffic payload_;
  std::vector<std::size_t> payload_bytes_to_;  // each rank
  Traffic agreement_;
  Traffic probe_;
  const CarriedCalls& calls_;
  std::size_t piggybacked_bytes_before_;
};

}  // namespace dsop
