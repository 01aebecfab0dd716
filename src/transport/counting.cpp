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
  return start_send_on(inner_, data, to, tag);
}

Request CountingTransport::start_receive(std::span<std::byte> data, int from, Tag tag) {
  return start_receive_on(inner_, data, from, tag);
}

}  // namespace dsop
