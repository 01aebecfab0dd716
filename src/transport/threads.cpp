// Ranks as threads. A send is done only when it has been received, as for MPI's large messages inside a node, so an
// algorithm that relies on buffering deadlocks here, where a debugger can look at it.
#include <dsop/threads.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <dsop/errors.hpp>

#include "kernels/threads.hpp"
#include "transport/lone_rank.hpp"
#include "transport/slots.hpp"
#include "transport/threads_hub.hpp"

namespace dsop {
namespace {

using threads::Hub;

std::shared_ptr<const TransportKind> threads_kind() {
  static const auto all = [] {
    const auto kind = std::make_shared<TransportKind>();
    kind->name = "threads";
    kind->default_machine = default_threads_machine();
    return kind;
  }();
  return all;
}

class ThreadsTransport : public Transport {
 public:
  ThreadsTransport(Hub& hub, int rank, int size, int node)
      : Transport({.rank = rank, .size = size, .node = node, .kind = threads_kind()}), hub_(hub) {}
  ~ThreadsTransport() override { end_calls(); }

  void come_to(std::uint64_t position) override { hub_.come_to(position, rank()); }
  std::vector<int> ranks_behind(std::uint64_t position, double) override { return hub_.ranks_behind(position); }

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag, Length) override {
    static constexpr std::byte nothing{};  // an empty message is told from a receive by its pointer too
    const std::byte* const out = data.empty() ? &nothing : data.data();
    const std::size_t slot = put({.out = out, .bytes = data.size(), .from = rank(), .to = to, .tag = tag});
    hub_.post_send(slots_[slot]);
    return make_request(slot);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag, Length length) override {
    const std::size_t slot =
        put({.in = data.data(), .bytes = data.size(), .from = from, .to = rank(), .tag = tag, .length = length});
    hub_.post_receive(slots_[slot]);
    return make_request(slot);
  }
  bool is_done(std::size_t slot) override { return hub_.is_finished(slots_[slot]); }
  std::size_t finish(std::size_t slot) override {
    const GiveBack on_return{slots_, slot};
    WatchedWait wait(*this);
    hub_.let_others_run(slots_[slot]);
    try {
      while (!hub_.finish(slots_[slot], rank(), wait.deadline())) wait.look();
    } catch (...) {
      hub_.withdraw(slots_[slot], rank());
      throw;
    }
    return slots_[slot].bytes;
  }
  void withdraw(std::size_t slot) noexcept override {
    hub_.withdraw(slots_[slot], rank());
    slots_.give_back(slot);
  }

  struct GiveBack {
    Slots<threads::Message>& slots;
    std::size_t slot;
    ~GiveBack() { slots.give_back(slot); }
  };

  std::size_t put(const threads::Message& message) {
    const std::size_t slot = slots_.take();
    slots_[slot] = message;
    return slot;
  }

  Hub& hub_;
  Slots<threads::Message> slots_;
};

struct LoneRank final : Hub, ThreadsTransport {
  LoneRank() : Hub(1), ThreadsTransport(*this, 0, 1, 0) {}
};

}  // namespace

std::unique_ptr<Transport> make_lone_rank() {
  return std::make_unique<LoneRank>();
}

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
  const auto note_failure = [&](const std::string& reason) {
    const std::lock_guard lock(first_failure_lock);
    if (!first_failure) first_failure = std::current_exception();
    hub.fail(reason);
  };
  const auto run_rank = [&](int rank) {
    kernels::set_thread_count(omp_threads);
    try {
      const auto of_rank = nodes.empty() ? nodes.end() : nodes.begin() + rank;
      const int node =
          nodes.empty() ? rank : static_cast<int>(std::find(nodes.begin(), of_rank, *of_rank) - nodes.begin());
      ThreadsTransport transport(hub, rank, ranks, node);
      body(transport);
    } catch (const std::exception& failure) {
      note_failure("rank " + std::to_string(rank) + " ended with an error: " + failure.what());
    } catch (...) {
      note_failure("rank " + std::to_string(rank) + " ended with an unknown error");
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
