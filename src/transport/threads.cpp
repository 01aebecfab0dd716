// Ranks as threads. A message is copied once, straight from the sender's memory to the receiver's, by whichever of the
// two comes second; a send is done only when it has been received, as for MPI's large messages, so an algorithm that
// relies on buffering deadlocks here, where a debugger can look at it.
#include <dsop/threads.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <dsop/errors.hpp>

#include "kernels/threads.hpp"
#include "transport/slots.hpp"
#include "transport/stall.hpp"

namespace dsop {
namespace {

struct Operation {
  enum class State { posted, copying, done, wrong_length };

  const std::byte* out = nullptr;  // of a send
  std::byte* in = nullptr;         // of a receive
  std::size_t bytes = 0;
  std::size_t other_bytes = 0;  // of the message that it met, when the lengths differ
  int from = 0;
  int to = 0;
  Tag tag = Tag::payload;
  State state = State::posted;
};

// What the ranks share. One lock for everything: it is held for a few list operations, never while bytes are copied.
class Hub {
 public:
  explicit Hub(int ranks) : places_(static_cast<std::size_t>(ranks)) {}

  void post_send(Operation& send) { post(send, place(send.to).sends, place(send.to).receives); }
  void post_receive(Operation& receive) { post(receive, place(receive.to).receives, place(receive.to).sends); }

  // Whether the operation is done; false at the deadline.
  bool finish(Operation& operation, int rank, WatchedWait::Clock::time_point deadline) {
    const int peer = operation.from == rank ? operation.to : operation.from;
    const auto has_ended = [&] {
      return operation.state != Operation::State::copying &&
             (operation.state != Operation::State::posted || !failure_.empty() || place(peer).ended);
    };
    std::unique_lock lock(mutex_);
    if (deadline == WatchedWait::Clock::time_point::max())
      place(rank).changed.wait(lock, has_ended);
    else if (!place(rank).changed.wait_until(lock, deadline, has_ended))
      return false;
    if (operation.state == Operation::State::wrong_length) throw_wrong_length(operation);
    if (operation.state == Operation::State::done) return true;
    forget(operation);
    if (!failure_.empty()) throw TransportError(failure_);
    throw TransportError("rank " + std::to_string(rank) + " waits for rank " + std::to_string(peer) +
                         ", which has ended");
  }

  bool is_done(const Operation& operation) {
    const std::lock_guard lock(mutex_);
    return operation.state == Operation::State::done;
  }

  void withdraw(Operation& operation, int rank) {
    std::unique_lock lock(mutex_);
    place(rank).changed.wait(lock, [&] { return operation.state != Operation::State::copying; });
    if (operation.state == Operation::State::posted) forget(operation);
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
    wake_all();
  }

  void end(int rank) {
    const std::lock_guard lock(mutex_);
    place(rank).ended = true;
    wake_all();
  }

 private:
  struct Place {
    std::condition_variable changed;
    std::deque<Operation*> sends;     // to this rank, in order, not yet received
    std::deque<Operation*> receives;  // of this rank, in order, not yet sent
    std::uint64_t position = 0;       // how far this rank has come
    bool ended = false;
  };

  [[noreturn]] static void throw_wrong_length(const Operation& operation) {
    const bool sends = operation.out != nullptr;
    throw TransportError("rank " + std::to_string(operation.from) + " sent " +
                         std::to_string(sends ? operation.bytes : operation.other_bytes) + " bytes to rank " +
                         std::to_string(operation.to) + ", which expected " +
                         std::to_string(sends ? operation.other_bytes : operation.bytes));
  }

  Place& place(int rank) { return places_[static_cast<std::size_t>(rank)]; }

  void post(Operation& mine, std::deque<Operation*>& own_side, std::deque<Operation*>& other_side) {
    std::unique_lock lock(mutex_);
    mine.state = Operation::State::posted;
    const auto match = std::find_if(other_side.begin(), other_side.end(),
                                    [&](const Operation* o) { return o->from == mine.from && o->tag == mine.tag; });
    if (match == other_side.end()) {
      own_side.push_back(&mine);
      return;
    }
    Operation& other = **match;
    other_side.erase(match);
    if (mine.bytes != other.bytes) {
      mine.other_bytes = other.bytes;
      other.other_bytes = mine.bytes;
      settle(mine, other, Operation::State::wrong_length);
      return;
    }
    mine.state = other.state = Operation::State::copying;
    lock.unlock();
    const Operation& send = mine.out != nullptr ? mine : other;
    const Operation& receive = mine.out != nullptr ? other : mine;
    if (send.bytes > 0) std::memcpy(receive.in, send.out, send.bytes);
    lock.lock();
    settle(mine, other, Operation::State::done);
  }

  void settle(Operation& mine, Operation& other, Operation::State state) {
    mine.state = other.state = state;
    place(mine.from).changed.notify_all();
    place(mine.to).changed.notify_all();
  }

  void forget(Operation& operation) {
    Place& receiver = place(operation.to);
    std::erase(receiver.sends, &operation);
    std::erase(receiver.receives, &operation);
  }

  void wake_all() {
    for (Place& p : places_) p.changed.notify_all();
  }

  std::mutex mutex_;
  std::vector<Place> places_;
  std::string failure_;
};

class ThreadsTransport final : public Transport {
 public:
  ThreadsTransport(Hub& hub, int rank, int size, int node) : hub_(hub), rank_(rank), size_(size), node_(node) {}
  ~ThreadsTransport() override { end_calls(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node() const override { return node_; }
  std::string name() const override { return "threads"; }
  Machine default_machine() const override { return default_threads_machine(); }
  void come_to(std::uint64_t position) override { hub_.come_to(position, rank_); }
  std::vector<int> ranks_behind(std::uint64_t position, double) override { return hub_.ranks_behind(position); }

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag) override {
    static constexpr std::byte nothing{};  // an empty message is told from a receive by its pointer too
    const std::byte* const out = data.empty() ? &nothing : data.data();
    const std::size_t slot = put({.out = out, .bytes = data.size(), .from = rank_, .to = to, .tag = tag});
    hub_.post_send(slots_[slot]);
    return make_request(slot);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override {
    const std::size_t slot = put({.in = data.data(), .bytes = data.size(), .from = from, .to = rank_, .tag = tag});
    hub_.post_receive(slots_[slot]);
    return make_request(slot);
  }
  bool is_done(std::size_t slot) override { return hub_.is_done(slots_[slot]); }
  void finish(std::size_t slot) override {
    const GiveBack on_return{slots_, slot};
    WatchedWait wait(*this);
    try {
      while (!hub_.finish(slots_[slot], rank_, wait.deadline())) wait.report();
    } catch (...) {
      hub_.withdraw(slots_[slot], rank_);
      throw;
    }
  }
  void withdraw(std::size_t slot) noexcept override {
    hub_.withdraw(slots_[slot], rank_);
    slots_.give_back(slot);
  }

  struct GiveBack {
    Slots<Operation>& slots;
    std::size_t slot;
    ~GiveBack() { slots.give_back(slot); }
  };

  std::size_t put(const Operation& operation) {
    const std::size_t slot = slots_.take();
    slots_[slot] = operation;
    return slot;
  }

  Hub& hub_;
  int rank_;
  int size_;
  int node_;
  Slots<Operation> slots_;
};

}  // namespace

void run_on_threads(int ranks, const std::function<void(Transport&)>& body, int omp_threads,
                    const std::vector<int>& nodes) {
  if (ranks < 1) throw ArgumentError("ranks is " + std::to_string(ranks) + ", expected at least 1");
  if (omp_threads < 1) throw ArgumentError("omp_threads is " + std::to_string(omp_threads) + ", expected at least 1");
  if (!nodes.empty() && nodes.size() != static_cast<std::size_t>(ranks))
    throw ArgumentError("nodes has " + std::to_string(nodes.size()) + " numbers, expected one for each of " +
                        std::to_string(ranks) + " ranks");
  Hub hub(ranks);
  std::exception_ptr first_failure;
  std::mutex first_failure_lock;
  const auto run_rank = [&](int rank) {
    kernels::set_thread_count(omp_threads);
    try {
      const auto of_rank = nodes.empty() ? nodes.end() : nodes.begin() + rank;
      const int node =
          nodes.empty() ? rank : static_cast<int>(std::find(nodes.begin(), of_rank, *of_rank) - nodes.begin());
      ThreadsTransport transport(hub, rank, ranks, node);
      body(transport);
    } catch (const std::exception& failure) {
      const std::lock_guard lock(first_failure_lock);
      if (!first_failure) first_failure = std::current_exception();
      hub.fail("rank " + std::to_string(rank) + " ended with an error: " + failure.what());
    } catch (...) {
      const std::lock_guard lock(first_failure_lock);
      if (!first_failure) first_failure = std::current_exception();
      hub.fail("rank " + std::to_string(rank) + " ended with an unknown error");
    }
    hub.end(rank);
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(ranks));
    try {
      for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run_rank, rank);
    } catch (const std::exception& failure) {  // the system has no more threads: release those that wait
      const std::string reason =
          "the threads of " + std::to_string(ranks) + " ranks could not be started: " + failure.what();
      hub.fail(reason);
      throw Error(reason);
    }
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace dsop
