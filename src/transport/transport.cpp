#include <dsop/transport.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include "transport/carried_calls.hpp"

namespace dsop {

Request::Request(Request&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), slot_(other.slot_) {}

Request& Request::operator=(Request&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(slot_, other.slot_);
  return *this;
}

Request::~Request() {
  if (owner_ != nullptr) owner_->withdraw(slot_);
}

Transport::Transport(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}
Transport::Transport(Transport& inner, Endpoint endpoint) : endpoint_(std::move(endpoint)), root_(inner.root_) {}
Transport::~Transport() = default;

// A node's pieces are the ones of its level, or no longer than what that is without a measurement.
bool Transport::use_pieces_of(const Machine& machine) {
  const double in_node_bytes = machine.inner_levels.empty() ? std::min(machine.piece_bytes, Level().piece_bytes)
                                                            : machine.inner_levels[0].piece_bytes;
  return use_pieces(machine.piece_bytes, in_node_bytes);
}

double Transport::now_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::size_t Transport::wait(Request& request) {
  Transport* const owner = std::exchange(request.owner_, nullptr);
  return owner != nullptr ? owner->finish(request.slot_) : 0;
}

CarriedCalls& Transport::carried() {
  if (!root_->carried_) root_->carried_ = make_carried_calls();
  return *root_->carried_;
}

std::vector<int> Transport::ranks_behind(std::uint64_t, double) {
  return {};
}

void Transport::end_calls() noexcept {
  if (carried_) carried_->end(*this);
}

}  // namespace dsop
