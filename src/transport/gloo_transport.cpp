#include "transport/gloo_transport.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <dsop/errors.hpp>

#include "base/rank_list.hpp"
#include "transport/call_state.hpp"
#include "transport/lone_rank.hpp"
#include "transport/signals.hpp"
#include "transport/stall.hpp"

namespace dsop {
namespace {

constexpr std::size_t tags = static_cast<std::size_t>(Tag::probe) + 1;  // the largest

// Gloo's number of a message. Two messages of which one may be under way differ in their places.
std::uint64_t slot_of(Tag tag, std::uint64_t place, std::size_t bytes) {
  constexpr int bits_of_bytes = 40;
  constexpr int bits_of_place = 21;
  static_assert(tags <= 1U << (64 - bits_of_bytes - bits_of_place));
  const auto low = [](std::uint64_t value, int bits) { return value & ((std::uint64_t{1} << bits) - 1); };
  return (static_cast<std::uint64_t>(tag) << (bits_of_bytes + bits_of_place)) |
         (low(place, bits_of_place) << bits_of_bytes) | low(bytes, bits_of_bytes);
}

// Gloo begins its texts with a file's name and a line, in brackets.
std::string without_place(const std::string& text) {
  const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

}  // namespace

GlooTransport::GlooTransport(std::shared_ptr<GlooMesh> mesh, int rank, std::vector<int> nodes)
    : mesh_(std::move(mesh)), rank_(rank), nodes_(std::move(nodes)), own_(make_lone_rank()) {
  for (std::vector<std::uint64_t>& of_direction : counts_) of_direction.resize(tags * nodes_.size());
  roll_call_.emplace(*this);
}

GlooTransport::~GlooTransport() {
  end_calls();
  ends_ = true;
  roll_call_.reset();
  constexpr std::chrono::seconds longest{10};  // a host that is gone takes nothing
  if (mesh_) mesh_->drain(longest);
}

Request GlooTransport::start_send(std::span<const std::byte> data, int to, Tag tag) {
  if (to == rank_) return own_->isend(data, 0, tag);
  return start(false, const_cast<std::byte*>(data.data()), data.size(), to, tag);  // Gloo reads it alone
}

Request GlooTransport::start_receive(std::span<std::byte> data, int from, Tag tag) {
  if (from == rank_) return own_->irecv(data, 0, tag);
  return start(true, data.data(), data.size(), from, tag);
}

Request GlooTransport::start(bool receives, std::byte* data, std::size_t bytes, int peer, Tag tag) {
  const std::size_t slot = slots_.take();
  Message& message = slots_[slot];
  message.receives = receives;
  message.tag = tag;
  message.peer = peer;
  message.bytes = bytes;
  message.gloo.emplace(mesh_, data, bytes);
  std::uint64_t& place =
      counts_[receives ? 1 : 0][static_cast<std::size_t>(tag) * nodes_.size() + static_cast<std::size_t>(peer)];
  const std::uint64_t number = slot_of(tag, place++, bytes);
  try {
    const NoSigpipe no_sigpipe;
    receives ? message.gloo->start_receive(peer, number) : message.gloo->start_send(peer, number);
  } catch (const std::exception& failure) {
    give_back(slot);
    throw_failure(message, failure.what());
  }
  return make_request(slot);
}

bool GlooTransport::is_done(std::size_t slot) {
  return has_ended(slots_[slot]);
}

// A message that was under way when its connection was closed is told nothing. It may be done nevertheless, which it
// has been told before.
bool GlooTransport::has_ended(Message& message, GlooMessage::Clock::time_point deadline) {
  const bool is_closed = mesh_->is_closed(message.peer);
  return message.gloo->has_ended(is_closed ? GlooMessage::Clock::time_point() : deadline) || is_closed;
}

void GlooTransport::finish(std::size_t slot) {
  Message& message = slots_[slot];
  if (!message.gloo->is_done()) try {
      wait_for(message);
    } catch (...) {
      if (message.tag == Tag::payload || message.tag == Tag::agreement) break_off();
      withdraw(slot);
      throw;
    }
  give_back(slot);
}

void GlooTransport::wait_for(Message& message) {
  constexpr std::chrono::milliseconds between_looks{10};
  WatchedWait wait(*this);
  for (;;) {
    const WatchedWait::Clock::time_point now = WatchedWait::Clock::now();
    if (has_ended(message, std::min(wait.deadline(), now + between_looks))) {
      if (message.gloo->is_done()) return;
      throw_failure(message, message.gloo->failure());
    }
    if (WatchedWait::Clock::now() >= wait.deadline()) wait.look();
    roll_call_->answer(calls().watched.position);
  }
}

void GlooTransport::throw_failure(const Message& message, std::string reason) const {
  std::string text = std::string(message.receives ? "receiving " : "sending ") + std::to_string(message.bytes) +
                     " bytes on rank " + std::to_string(rank_) + (message.receives ? " from rank " : " to rank ") +
                     std::to_string(message.peer) +
                     " failed: " + (reason.empty() ? "the connection is closed" : without_place(reason));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // what happened at once may be heard of one by one
  const std::vector<int> closed = mesh_->closed_peers();
  if (closed.size() > 1) text += "; closed connections: " + list_ranks(closed);
  throw TransportError(text);
}

void GlooTransport::withdraw(std::size_t slot) noexcept {
  if (!ends_ && !has_ended(slots_[slot])) break_off();
  give_back(slot);
}

void GlooTransport::break_off() noexcept {
  try {
    mesh_->close("rank " + std::to_string(rank_) + " has given up a message");
  } catch (...) {  // its memory is safe all the same: Gloo looks whether the message is still there
  }
}

void GlooTransport::give_back(std::size_t slot) noexcept {
  slots_[slot].gloo.reset();
  slots_.give_back(slot);
}

std::vector<int> GlooTransport::ranks_behind(std::uint64_t position, double seconds) {
  return roll_call_->ranks_behind(position, seconds);
}

}  // namespace dsop
