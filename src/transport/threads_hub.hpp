// Where ranks that are threads of one process meet: a message is copied once, straight from the sender's memory to the
// receiver's, by whichever of the two comes second.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <dsop/errors.hpp>
#include <dsop/transport.hpp>

#include "transport/watched_wait.hpp"

namespace dsop::threads {

/// One side of a message: its sender's or its receiver's. Stays where it is until it is done or withdrawn.
struct Message {
  enum class State { posted, copying, done, wrong_length };

  const std::byte* out = nullptr;  // of a send
  std::byte* in = nullptr;         // of a receive
  std::size_t bytes = 0;           // of a receive that is told the length: at most, until it has come
  std::size_t other_bytes = 0;     // of the message that it met, when it does not fit
  int from = 0;
  int to = 0;
  Tag tag = Tag::payload;
  Length length = Length::known;  // of a receive
  State state = State::posted;
  bool awaited = false;  // somebody sleeps until it is done: only then is its rank woken

  int rank() const { return out != nullptr ? from : to; }
  int peer() const { return out != nullptr ? to : from; }
};

/// What the ranks share. One lock for everything: it is held for a few list operations, never while bytes are copied.
/// A rank is woken for the message that it waits for alone, and after the lock is free: to wake up for nothing costs
/// two switches of threads.
class Hub {
 public:
  explicit Hub(int ranks) : places_(static_cast<std::size_t>(ranks)) {}

  void post_send(Message& send) { post(send, place(send.to).sends, place(send.to).receives); }
  void post_receive(Message& receive) { post(receive, place(receive.to).receives, place(receive.to).sends); }

  /// Whether the message is done; false at the deadline. Throws TransportError if it never will be.
  bool finish(Message& message, int rank, WatchedWait::Clock::time_point deadline) {
    const auto has_ended = [&] { return is_over(message); };
    std::unique_lock lock(mutex_);
    message.awaited = true;
    if (deadline == WatchedWait::Clock::time_point::max())
      place(rank).changed.wait(lock, has_ended);
    else if (!place(rank).changed.wait_until(lock, deadline, has_ended))
      return false;
    if (message.state == Message::State::wrong_length) throw_wrong_length(message);
    if (message.state == Message::State::done) return true;
    forget(message);
    if (!failure_.empty()) throw TransportError(failure_);
    throw TransportError("rank " + std::to_string(rank) + " waits for rank " + std::to_string(message.peer()) +
                         ", which has ended");
  }

  /// Before the first finish(): to wake a thread on another core costs several times what a message does, so the cores
  /// go to other ranks first, among which the sender is. Tens of microseconds where nobody wants them; where others
  /// compute, it returns when it has had the core again.
  void let_others_run(const Message& message) {
    constexpr int turns = 64;
    const auto end = WatchedWait::Clock::now() + std::chrono::milliseconds(1);
    for (int turn = 0; turn < turns && !is_finished(message) && WatchedWait::Clock::now() < end; ++turn)
      std::this_thread::yield();
  }

  /// Whether finish() would return, or throw, at once.
  bool is_finished(const Message& message) {
    const std::lock_guard lock(mutex_);
    return is_over(message);
  }

  void withdraw(Message& message, int rank) {
    std::unique_lock lock(mutex_);
    message.awaited = true;
    place(rank).changed.wait(lock, [&] { return message.state != Message::State::copying; });
    if (message.state == Message::State::posted) forget(message);
  }

  void come_to(std::uint64_t position, int rank) {
    const std::lock_guard lock(mutex_);
    place(rank).position = position;
  }

  std::vector<int> ranks_behind(std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    std::vector<int> behind;
    for (std::size_t rank = 0; rank < places_.size(); ++rank)
      if (places_[rank].position < position) behind.push_back(static_cast<int>(rank));
    return behind;
  }

  void fail(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = reason;
    for (Place& p : places_) p.changed.notify_all();
  }

  void end(int rank) {
    const std::lock_guard lock(mutex_);
    place(rank).ended = true;
    const auto wake = [&](const std::vector<Message*>& posted) {
      for (const Message* m : posted)
        if (m->awaited && m->peer() == rank) place(m->rank()).changed.notify_all();
    };
    wake(place(rank).sends);
    for (const Place& p : places_) wake(p.receives);
  }

 private:
  struct Place {
    std::condition_variable changed;
    std::vector<Message*> sends;     // to this rank, in order, not yet received
    std::vector<Message*> receives;  // of this rank, in order, not yet sent
    std::uint64_t position = 0;      // how far this rank has come
    bool ended = false;
  };

  [[noreturn]] static void throw_wrong_length(const Message& message) {
    const bool sends = message.out != nullptr;
    const std::string most = message.length == Length::told ? "at most " : "";
    throw TransportError("rank " + std::to_string(message.from) + " sent " +
                         std::to_string(sends ? message.bytes : message.other_bytes) + " bytes to rank " +
                         std::to_string(message.to) + ", which expected " + most +
                         std::to_string(sends ? message.other_bytes : message.bytes));
  }

  // Done, or never to be.
  bool is_over(const Message& message) {
    if (message.state == Message::State::posted) return !failure_.empty() || place(message.peer()).ended;
    return message.state != Message::State::copying;
  }

  Place& place(int rank) { return places_[static_cast<std::size_t>(rank)]; }

  void post(Message& mine, std::vector<Message*>& own_side, std::vector<Message*>& other_side) {
    std::unique_lock lock(mutex_);
    mine.state = Message::State::posted;
    const auto match = std::find_if(other_side.begin(), other_side.end(),
                                    [&](const Message* m) { return m->from == mine.from && m->tag == mine.tag; });
    if (match == other_side.end()) {
      own_side.push_back(&mine);
      return;
    }
    Message& other = **match;
    other_side.erase(match);
    const Message& send = mine.out != nullptr ? mine : other;
    Message& receive = mine.out != nullptr ? other : mine;
    if (receive.length == Length::told && send.bytes < receive.bytes) receive.bytes = send.bytes;
    if (mine.bytes != other.bytes) {
      mine.length = other.length = receive.length;
      mine.other_bytes = other.bytes;
      other.other_bytes = mine.bytes;
      return complete(mine, other, Message::State::wrong_length, lock);
    }
    mine.state = other.state = Message::State::copying;
    lock.unlock();
    if (send.bytes > 0) std::memcpy(receive.in, send.out, send.bytes);
    lock.lock();
    complete(mine, other, Message::State::done, lock);
  }

  // `other` may be gone as soon as the lock is free; nobody waits for `mine` yet.
  void complete(Message& mine, Message& other, Message::State state, std::unique_lock<std::mutex>& lock) {
    mine.state = other.state = state;
    std::condition_variable* const sleeper = other.awaited ? &place(other.rank()).changed : nullptr;
    lock.unlock();
    if (sleeper != nullptr) sleeper->notify_all();
  }

  void forget(Message& message) {
    Place& receiver = place(message.to);
    std::erase(receiver.sends, &message);
    std::erase(receiver.receives, &message);
  }

  std::mutex mutex_;
  std::vector<Place> places_;
  std::string failure_;
};

}  // namespace dsop::threads
