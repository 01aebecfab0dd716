// The messages of a vector that travels in segments.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <dsop/transport.hpp>

#include "base/segments.hpp"

namespace dsop::patterns {

/// One message each way a segment, all of them under way at once. Segment i's memory may be used again after the wait.
class SegmentMessages {
 public:
  explicit SegmentMessages(Transport& transport) : transport_(transport) {}

  template <class T>
  void send(int i, std::span<T> segment, int to) {
    sends_[static_cast<std::size_t>(i)] = transport_.isend(segment, to);
  }
  template <class T>
  void receive(int i, std::span<T> segment, int from) {
    receives_[static_cast<std::size_t>(i)] = transport_.irecv(segment, from);
  }
  void wait_received(int i) { transport_.wait(receives_[static_cast<std::size_t>(i)]); }
  void wait_sent(int i) { transport_.wait(sends_[static_cast<std::size_t>(i)]); }

 private:
  Transport& transport_;
  std::array<Request, most_segments> sends_;
  std::array<Request, most_segments> receives_;
};

}  // namespace dsop::patterns
