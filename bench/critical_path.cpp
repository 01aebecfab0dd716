#include "critical_path.hpp"

#include <algorithm>
#include <iterator>

namespace dsop::bench {

std::size_t Port::done_with(std::size_t units, std::size_t begin) {
  auto next = busy_.upper_bound(begin);
  if (next != busy_.begin() && std::prev(next)->second >= begin) --next;
  const std::size_t from = next == busy_.end() ? begin : std::min(begin, next->first);
  std::size_t time = begin;
  while (next != busy_.end() && next->first < time + units) {
    units -= next->first > time ? next->first - time : 0;
    time = std::max(time, next->second);
    next = busy_.erase(next);
  }
  busy_[from] = time + units;
  return time + units;
}

Request CriticalPathTransport::start_send(std::span<const std::byte> data, int to, Tag tag, Length length) {
  if (tag != Tag::payload || stopped_) return TransportOver::start_send(data, to, tag, length);
  const std::size_t slot = messages_.take();
  Message& message = messages_[slot];
  message.begin = std::max(clock_, sends_until_);
  message.received = false;
  sends_until_ = message.begin + units_of(data.size());
  message.data = TransportOver::start_send(data, to, tag, length);
  message.time = inner().isend(std::span(&message.begin, 1), to, tag);
  return make_request(slot);
}

Request CriticalPathTransport::start_receive(std::span<std::byte> data, int from, Tag tag, Length length) {
  if (tag != Tag::payload || stopped_) return TransportOver::start_receive(data, from, tag, length);
  const std::size_t slot = messages_.take();
  Message& message = messages_[slot];
  message.received = true;
  message.data = TransportOver::start_receive(data, from, tag, length);
  message.time = inner().irecv(std::span(&message.begin, 1), from, tag);
  return make_request(slot);
}

bool CriticalPathTransport::is_done(std::size_t slot) {
  return inner().test(messages_[slot].data) && inner().test(messages_[slot].time);
}

std::size_t CriticalPathTransport::finish(std::size_t slot) {
  Message& message = messages_[slot];
  const std::size_t bytes = inner().wait(message.data);
  inner().wait(message.time);
  const std::size_t units = units_of(bytes);
  clock_ = std::max(clock_, message.received ? receives_.done_with(units, message.begin) : message.begin + units);
  messages_.give_back(slot);
  return bytes;
}

void CriticalPathTransport::withdraw(std::size_t slot) noexcept {
  messages_[slot].data = Request();
  messages_[slot].time = Request();
  messages_.give_back(slot);
}

}  // namespace dsop::bench
