// What DSOP_TRACE=FILE asks for: what all ranks did, and when, as one JSON file for Chrome's and Perfetto's viewers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dsop/transport.hpp>

#include "base/traced_span.hpp"

namespace dsop {

class TraceFile;

/// What one rank did within the calls on a communicator: the first million spans, of 40 bytes each.
class Trace {
 public:
  struct Span {
    double start_seconds;  ///< by the transport's clock
    double seconds;
    std::int64_t bytes;  ///< below 0: none
    std::int32_t peer;   ///< the same
    std::uint32_t name : 31;
    std::uint32_t on_progress_thread : 1;
  };

  /// One where DSOP_TRACE is set, else null. Rank 0 opens the file: where it can't, or another run writes it, it says
  /// so on stderr, and there is none.
  static std::unique_ptr<Trace> of_environment(const Transport& transport);

  void take(std::string_view name, Span span) noexcept;
  /// At the end of the communicator. If `all_trace`, rank 0 gets the others' spans, on its clock; waits for each for at
  /// most 30 s. What is missing is said on stderr, and makes the communicator one that has failed.
  void write(Transport& transport, bool all_trace) noexcept;

 private:
  Trace() = default;
  std::string json(int rank, double clock_ahead_seconds) const;
  void collect(Transport& transport, std::string& write_error);

  std::shared_ptr<TraceFile> file_;  // of rank 0
  std::vector<Span> spans_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::size_t left_out_ = 0;
};

/// Hands a call's messages on and takes their spans, and those of its products on this thread.
class TracedCall final : public TransportOver, public SpanSink {
 public:
  /// `name` is the call's.
  TracedCall(Transport& inner, Trace& trace, std::string name)
      : TransportOver(inner),
        trace_(trace),
        name_(std::move(name)),
        on_progress_thread_(is_on_progress_thread()),
        before_(std::exchange(span_sink, this)),
        start_seconds_(now_seconds()) {}
  ~TracedCall() override {
    span_sink = before_;
    take_span(name_.c_str(), start_seconds_, -1, -1);
  }

  double now_seconds() const override { return TransportOver::now_seconds(); }
  void take_span(const char* name, double start_seconds, std::int64_t bytes, int peer) noexcept override;
  std::size_t wait(Request& request) override;

 protected:
  Request start_send(std::span<const std::byte> data, int to, Tag tag, Length length) override;

 private:
  bool is_on_progress_thread();

  Trace& trace_;
  std::string name_;
  bool on_progress_thread_;
  SpanSink* before_;
  double start_seconds_;
};

}  // namespace dsop
