// Stretches of time that a trace shows, where one is written.
#pragma once

#include <cstdint>

namespace dsop {

/// Takes what one call does.
struct SpanSink {
  virtual ~SpanSink() = default;
  virtual double now_seconds() const = 0;
  /// From `start_seconds` until now. Without bytes or a peer: below 0.
  virtual void take_span(const char* name, double start_seconds, std::int64_t bytes, int peer) noexcept = 0;
};

/// Of the call that runs on this thread; null where no trace is written.
inline constinit thread_local SpanSink* span_sink = nullptr;

/// From its making to its end.
class TracedSpan {
 public:
  TracedSpan(SpanSink* sink, const char* name)
      : sink_(sink), name_(name), start_seconds_(sink == nullptr ? 0 : sink->now_seconds()) {}
  explicit TracedSpan(const char* name) : TracedSpan(span_sink, name) {}
  TracedSpan(const TracedSpan&) = delete;
  ~TracedSpan() {
    if (sink_ != nullptr) sink_->take_span(name_, start_seconds_, -1, -1);
  }

 private:
  SpanSink* sink_;
  const char* name_;
  double start_seconds_;
};

}  // namespace dsop
