#include <dsop/counting.hpp>

#include <algorithm>

namespace dsop {

void Traffic::raise_to(const Traffic& other) {
  messages = std::max(messages, other.messages);
  bytes = std::max(bytes, other.bytes);
}

Request CountingTransport::start_send(std::span<const std::byte> data, int to, Tag tag) {
  Traffic& traffic = tag == Tag::agreement ? agreement_ : payload_;
  ++traffic.messages;
  traffic.bytes += data.size();
  return TransportOver::start_send(data, to, tag);
}

}  // namespace dsop
