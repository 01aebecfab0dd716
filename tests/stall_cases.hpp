// Ranks that come late or never, over any transport.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dsop/collectives.hpp>
#include <dsop/dsop.hpp>
#include <dsop/sparse_allreduce.hpp>
#include <dsop/synchronizer.hpp>
#include <dsop/topk_allreduce.hpp>

#include "failures.hpp"
#include "overlap_cases.hpp"

namespace dsop::tests {

inline void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// What was reported to a watch.
class Reports {
 public:
  StallWatch watch(double limit_seconds, bool throws = false) {
    return {.limit_seconds = limit_seconds, .on_stall = [this](const Stall& stall) { add(stall); }, .throws = throws};
  }
  std::vector<Stall> taken() {
    const std::lock_guard lock(mutex_);
    return std::exchange(stalls_, {});
  }

 private:
  void add(const Stall& stall) {
    const std::lock_guard lock(mutex_);
    stalls_.push_back(stall);
  }
  std::mutex mutex_;
  std::vector<Stall> stalls_;
};

/// The others come to the call a little apart, all within the limit of the first, and report the `late` ranks, and just
/// those, in time; then the late ones come, and the result is right.
inline void check_late_ranks(Transport& transport, const std::vector<int>& late, bool started, Failures& failures) {
  constexpr double limit_seconds = 0.6;
  const int rank = transport.rank();
  Reports reports;
  Job<float> job(transport, 12, 8, 2, "auto");
  job.run(1);
  set_stall_watch(transport, reports.watch(limit_seconds));
  const bool is_late = std::find(late.begin(), late.end(), rank) != late.end();
  sleep_seconds(is_late ? 3 * limit_seconds : 0.03 * rank);
  if (started)
    job.start(2).wait();
  else
    job.run(2);
  set_stall_watch(transport, {.limit_seconds = 0});
  failures.check(job.exact(), "the result after a stall is wrong");

  const std::vector<Stall> stalls = reports.taken();
  if (is_late) {
    failures.check(stalls.empty(), "a late rank has reported");
    return;
  }
  failures.check(stalls.size() == 1, std::to_string(stalls.size()) + " reports, expected 1");
  for (const Stall& stall : stalls) {
    failures.check(stall.missing_ranks == late, stall.text());
    failures.check(stall.rank == rank && stall.operation == "outer product" && stall.rows == 12 && stall.columns == 8,
                   stall.text());
    failures.check(stall.waited_seconds >= limit_seconds, stall.text());
  }
}

/// Every call on a communicator is refused by name where its third call, with `job`, has failed so.
inline void check_refused(Transport& transport, Job<float>& job, const std::string& failure, Failures& failures) {
  std::vector<float> data(3, 1);
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"run", [&] { job.run(3); }},
      {"start", [&] { job.start(3).wait(); }},
      {"a layer", [&] { Job<float>(transport, 2, 2, 1, "auto"); }},
      {"dsop",
       [&] {
         dsop::dsop<float>(transport, {}, {data.data(), 1, 3});
       }},
      {"allreduce", [&] { allreduce<float>(transport, data); }},
      {"start_allreduce", [&] { start_allreduce<float>(transport, data).wait(); }},
      {"sparse_allreduce",
       [&] {
         static_cast<void>(sparse_allreduce<float>(transport, {3, {}, data}));
       }},
      {"SparseAllreduce",
       [&] {
         static_cast<void>(SparseAllreduce<float>(transport).run({3, {}, data}));
       }},
      {"TopKAllreduce", [&] { static_cast<void>(TopKAllreduce<float>(transport, 3).run(data, 1)); }},
      {"machine", [&] { static_cast<void>(machine(transport)); }},
      {"a synchronizer", [&] { Synchronizer<float> made(transport); }},
  };
  for (const auto& [name, call] : calls) {
    std::string error = "nothing";
    try {
      call();
    } catch (const TransportError& refused) {
      error = refused.what();
    }
    failures.check(error == "this communicator has failed in call 3, " + failure + "; expected a new one",
                   std::string(name) + " throws " + error);
  }
  failures.check(data == std::vector<float>(3, 1), "a refused call has changed data");
}

/// The last rank never comes. Nothing may be sent over the transport after this.
inline void check_throwing_watch(Transport& transport, Failures& failures) {
  const int last = transport.size() - 1;
  Reports reports;
  Job<float> job(transport, 5, 6, 1, "auto");
  job.run(1);
  set_stall_watch(transport, reports.watch(0.4, true));
  if (transport.rank() == last) return sleep_seconds(2);
  std::string error;
  try {
    job.run(2);
  } catch (const TransportError& failure) {
    error = failure.what();
  }
  const std::vector<Stall> stalls = reports.taken();
  failures.check(stalls.size() == 1 && stalls[0].text() == error, "threw: " + error);
  const std::string start = "outer product 5 x 6 f32, after 2 calls: rank " + std::to_string(transport.rank());
  failures.check(error.starts_with(start), error);
  failures.check(error.ends_with("; missing: rank " + std::to_string(last)), error);
  check_refused(transport, job, "outer product 5 x 6 f32: " + error, failures);
  sleep_seconds(2);  // as threads, a rank that ends releases those that wait for it
}

inline void check_unreported(Transport& transport, Failures& failures) {
  Reports reports;
  Job<float> job(transport, 5, 6, 1, "auto");
  for (const double limit_seconds : {0.0, 5.0}) {
    set_stall_watch(transport, reports.watch(limit_seconds, true));
    if (transport.rank() == 0) sleep_seconds(0.5);
    job.run(3);
    failures.check(job.exact(), "the result is wrong");
  }
  failures.check(reports.taken().empty(), "something was reported");
  set_stall_watch(transport, {});
}

}  // namespace dsop::tests
