// One message over Gloo.
#pragma once

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/unbound_buffer.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>

namespace dsop {

/// Gloo's own wait closes all connections when its time is over, and has no way to look without waiting: these have.
/// To be destroyed only when it has ended, or its connection has: Gloo would wait for ever for its memory.
class GlooMessage final : public gloo::transport::tcp::UnboundBuffer {
 public:
  using Clock = std::chrono::steady_clock;

  GlooMessage(const std::shared_ptr<gloo::transport::tcp::Context>& mesh, void* data, std::size_t bytes)
      : UnboundBuffer(mesh, data, bytes) {}

  bool is_done() {
    const std::lock_guard lock(m_);
    return recvCompletions_ + sendCompletions_ > 0;
  }
  /// Whether it is done, or never will be: returns then, or else at the deadline.
  bool has_ended(Clock::time_point deadline) {
    std::unique_lock lock(m_);
    std::condition_variable& changed = receives_ ? recvCv_ : sendCv_;
    return changed.wait_until(lock, deadline,
                              [&] { return recvCompletions_ + sendCompletions_ > 0 || ex_ != nullptr; });
  }
  /// Why it never will be done, in Gloo's words, if it has any.
  std::string failure() {
    const std::lock_guard lock(m_);
    try {
      throwIfException();
    } catch (const std::exception& failure) {
      return failure.what();
    }
    return {};
  }

  void start_send(int to, std::uint64_t slot) { send(to, slot, 0, size); }
  void start_receive(int from, std::uint64_t slot) {
    receives_ = true;
    recv(from, slot, 0, size);
  }

 private:
  bool receives_ = false;
};

}  // namespace dsop
