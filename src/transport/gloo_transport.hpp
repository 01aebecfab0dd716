// Messages over Gloo.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dsop/transport.hpp>

#include "transport/gloo_mesh.hpp"
#include "transport/gloo_message.hpp"
#include "transport/gloo_roll_call.hpp"
#include "transport/slots.hpp"

namespace dsop {

/// Gloo sends a message once its receive is posted, and either end finds the other by a number, its "slot": here the
/// message's tag, its place among those of the two ranks with this tag, and its length. So order and tags hold, and a
/// receive of another length than was sent never begins. What Gloo has begun can't be taken back: if a wait fails, or a
/// request is given up, all connections are closed, and so the other ranks hear of it.
class GlooTransport final : public Transport {
 public:
  /// `nodes`: of all ranks, each by the lowest rank on it. `mesh` is connected; null for a lone rank.
  GlooTransport(std::shared_ptr<GlooMesh> mesh, int rank, std::vector<int> nodes);
  ~GlooTransport() override;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(nodes_.size()); }
  int node() const override { return nodes_[static_cast<std::size_t>(rank_)]; }
  std::string name() const override { return "gloo"; }
  Machine default_machine() const override { return {}; }
  bool is_probed() const override { return true; }
  std::vector<int> ranks_behind(std::uint64_t position, double seconds) override;

 private:
  struct Message {
    std::optional<GlooMessage> gloo;
    bool receives = false;
    Tag tag = Tag::payload;
    int peer = 0;
    std::size_t bytes = 0;
  };

  Request start_send(std::span<const std::byte> data, int to, Tag tag) override;
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override;
  bool is_done(std::size_t slot) override;
  void finish(std::size_t slot) override;
  void withdraw(std::size_t slot) noexcept override;

  Request start(bool receives, std::byte* data, std::size_t bytes, int peer, Tag tag);
  void wait_for(Message& message);
  /// Whether it has ended, perhaps by failing, now or by the deadline.
  bool has_ended(Message& message, GlooMessage::Clock::time_point deadline = {});
  [[noreturn]] void throw_failure(const Message& message, std::string reason) const;
  void give_back(std::size_t slot) noexcept;
  void break_off() noexcept;

  std::shared_ptr<GlooMesh> mesh_;
  int rank_;
  std::vector<int> nodes_;
  std::unique_ptr<Transport> own_;                    // messages to oneself
  std::array<std::vector<std::uint64_t>, 2> counts_;  // of sends and receives, by tag and peer
  Slots<Message> slots_;
  bool ends_ = false;
  std::optional<GlooRollCall> roll_call_;
};

}  // namespace dsop
