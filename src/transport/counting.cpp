#include <dsop/counting.hpp>

#include "transport/carried_calls.hpp"

namespace dsop {

CountingTransport::CountingTransport(Transport& inner)
    : TransportOver(inner),
      payload_bytes_to_(static_cast<std::size_t>(inner.size())),
      calls_(inner.carried()),
      piggybacked_bytes_before_(calls_.piggybacked_bytes) {}

std::size_t CountingTransport::piggybacked_bytes() const {
  return calls_.piggybacked_bytes - piggybacked_bytes_before_;
}

Traffic CountingTransport::payload() const {
  return payload_ + Traffic{0, piggybacked_bytes()};
}

Traffic CountingTransport::agreement() const {
  return {agreement_.messages, agreement_.bytes - piggybacked_bytes()};
}

std::size_t CountingTransport::payload_bytes_leaving(std::span<const int> groups) const {
  const int own = groups[static_cast<std::size_t>(rank())];
  std::size_t bytes = 0;
  for (std::size_t r = 0; r < payload_bytes_to_.size(); ++r) bytes += groups[r] != own ? payload_bytes_to_[r] : 0;
  return bytes;
}

Request CountingTransport::start_send(std::span<const std::byte> data, int to, Tag tag, Length length) {
  Traffic& traffic = tag == Tag::agreement ? agreement_ : tag == Tag::probe ? probe_ : payload_;
  ++traffic.messages;
  traffic.bytes += data.size();
  if (&traffic == &payload_) payload_bytes_to_[static_cast<std::size_t>(to)] += data.size();
  return TransportOver::start_send(data, to, tag, length);
}

}  // namespace dsop
