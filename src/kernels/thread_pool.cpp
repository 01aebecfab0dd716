#include "kernels/thread_pool.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <list>
#include <memory>
#include <new>
#include <thread>

#include "base/signals.hpp"

namespace dsop::kernels {
namespace {

class Pool {
 public:
  ~Pool() {
    body_ = {};
    for (Worker& worker : workers_) worker.start_job();
    for (Worker& worker : workers_) worker.thread.join();
  }

  /// Those that it does not get it goes without.
  void grow_to(std::size_t threads) {
    if (threads <= size()) return;
    const NoSignals on_new_threads;
    try {
      while (size() < threads) workers_.emplace_back(*this, size());
    } catch (const std::exception&) {
    }
  }
  std::size_t size() const { return workers_.size() + 1; }

  void run(std::size_t threads, TeamBody body) {
    body_ = body;
    team_ = threads;
    running_ = static_cast<std::uint32_t>(threads - 1);
    auto worker = workers_.begin();
    for (std::size_t t = 1; t < threads; ++t) (worker++)->start_job();
    body.call(body.data, 0, threads);
    for (std::uint32_t still = 0; (still = running_) != 0;) running_.wait(still);
  }

  const pid_t process = getpid();

 private:
  struct Worker {
    Worker(Pool& pool, std::size_t t) : thread([this, &pool, t] { pool.work(*this, t); }) {}
    void start_job() {
      jobs.fetch_add(1);
      jobs.notify_one();
    }
    std::atomic<std::uint32_t> jobs = 0;  // its own: who is not of the team reads nothing
    std::thread thread;
  };

  void work(const Worker& worker, std::size_t t) {
    for (std::uint32_t done = 0;; ++done) {
      worker.jobs.wait(done);
      if (body_.call == nullptr) return;
      body_.call(body_.data, t, team_);
      if (running_.fetch_sub(1) == 1) running_.notify_one();
    }
  }

  std::list<Worker> workers_;
  TeamBody body_{};  // null: the end
  std::size_t team_ = 0;
  std::atomic<std::uint32_t> running_ = 0;
};

/// A forked child has none of its parent's threads to end.
struct DeleteWhereMade {
  void operator()(Pool* pool) const {
    if (pool->process == getpid()) delete pool;
  }
};

}  // namespace

void run_on_own_threads(std::size_t threads, TeamBody body) {
  thread_local std::unique_ptr<Pool, DeleteWhereMade> pool;
  if (!pool || pool->process != getpid()) pool.reset(new (std::nothrow) Pool);
  if (!pool) return body.call(body.data, 0, 1);
  pool->grow_to(threads);
  pool->run(std::min(threads, pool->size()), body);
}

int threads_unless_told() {
  int threads = 0;
  if (const char* const told = std::getenv("OMP_NUM_THREADS")) std::from_chars(told, told + std::strlen(told), threads);
  cpu_set_t processors;
  if (threads < 1 && sched_getaffinity(0, sizeof processors, &processors) == 0) threads = CPU_COUNT(&processors);
  return std::max(threads, 1);
}

}  // namespace dsop::kernels
