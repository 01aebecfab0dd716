#include "call/trace.hpp"

#include <cstdlib>
#include <exception>

#include "call/call_state.hpp"

namespace dsop {

void Trace::take(std::string_view name, Span span) noexcept {
  constexpr std::size_t most_spans = 1 << 20;
  try {
    if (spans_.size() == most_spans) {
      ++left_out_;
      return;
    }
    auto known = names_.find(name);
    if (known == names_.end()) known = names_.emplace(name, static_cast<std::uint32_t>(names_.size())).first;
    span.name = known->second & 0x7fffffff;
    spans_.push_back(span);
  } catch (const std::exception&) {  // no memory
    ++left_out_;
  }
}

void TracedCall::take_span(const char* name, double start_seconds, std::int64_t bytes, int peer) noexcept {
  trace_.take(name, {start_seconds, now_seconds() - start_seconds, bytes, peer, 0, on_progress_thread_});
}

std::size_t TracedCall::wait(Request& request) {
  if (!request.pending()) return 0;
  const double start_seconds = now_seconds();
  const std::size_t bytes = TransportOver::wait(request);
  take_span("wait", start_seconds, static_cast<std::int64_t>(bytes), -1);
  return bytes;
}

Request TracedCall::start_send(std::span<const std::byte> data, int to, Tag tag, Length length) {
  const double start_seconds = now_seconds();
  Request request = TransportOver::start_send(data, to, tag, length);
  take_span("send", start_seconds, static_cast<std::int64_t>(data.size()), to);
  return request;
}

bool TracedCall::is_on_progress_thread() {
  return calls().queue->is_progress_thread;
}

}  // namespace dsop
