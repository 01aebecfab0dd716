#include <dsop/counting.hpp>

#include <algorithm>

#include "transport/call_state.hpp"

namespace dsop {

void Traffic::raise_to(const Traffic& other) {
  messages = std::max(messages, other.messages);
  bytes = std::max(bytes, other.bytes);
}

CountingTransport::CountingTransport(Transport& inner)
    : TransportOver(inner), state_(inner.calls()), ridden_bytes_before_(state_.ridden_bytes) {}

std::size_t CountingTransport::ridden_bytes() const {
  return state_.ridden_bytes - ridden_bytes_before_;
}

Traffic CountingTransport::payload() const {
  return payload_ + Traffic{0, ridden_bytes()};
}

Traffic CountingTransport::agreement() const {
  return {agreement_.messages, agreement_.bytes - ridden_bytes()};
}

Request CountingTransport::start_send(std::span<const std::byte> data, int to, Tag tag) {
  Traffic& traffic = tag == Tag::agreement ? agreement_ : payload_;
  ++traffic.messages;
  traffic.bytes += data.size();
  return TransportOver::start_send(data, to, tag);
}

}  // namespace dsop
