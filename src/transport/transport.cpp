#include <dsop/transport.hpp>

#include <chrono>
#include <utility>

#include <dsop/errors.hpp>

#include "base/error_of.hpp"
#include "transport/call_state.hpp"

namespace dsop {

void CallState::fail_with_caught() noexcept {
  if (!failure.empty()) return;
  try {
    std::string text = "an exception of an unknown type";
    try {
      throw;
    } catch (const std::exception&) {
      text = text_of_caught();
    } catch (...) {
    }
    failure = "this communicator has failed in " + watched.text() + ": " + text + "; expected a new one";
  } catch (const std::bad_alloc&) {
    failure = "has failed";  // as long as takes no memory
  }
}

Request::Request(Request&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), slot_(other.slot_) {}

Request& Request::operator=(Request&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(slot_, other.slot_);
  return *this;
}

Request::~Request() {
  if (owner_ != nullptr) owner_->withdraw(slot_);
}

Transport::Transport() = default;
Transport::~Transport() = default;

double Transport::now_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Transport::wait(Request& request) {
  if (Transport* owner = std::exchange(request.owner_, nullptr)) owner->finish(request.slot_);
}

void Transport::native_allreduce(std::span<std::byte>, DataType) {
  throw Error("the transport " + name() + " has no MPI_Allreduce");
}

void Transport::native_allgather(std::span<std::byte>, std::span<const std::size_t>) {
  throw Error("the transport " + name() + " has no MPI_Allgatherv");
}

void Transport::native_broadcast(std::span<std::byte>, int) {
  throw Error("the transport " + name() + " has no MPI_Bcast");
}

void Transport::native_reduce(std::span<std::byte>, DataType, int) {
  throw Error("the transport " + name() + " has no MPI_Reduce");
}

CallState& Transport::calls() {
  if (!calls_) calls_ = std::make_unique<CallState>();
  return *calls_;
}

std::vector<int> Transport::ranks_behind(std::uint64_t, double) {
  return {};
}

void Transport::end_calls() noexcept {
  if (calls_) calls_->queue->close();
}

}  // namespace dsop
