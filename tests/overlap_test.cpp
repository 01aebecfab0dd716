#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <sstream>

#include "overlap_cases.hpp"

#include "kernels/threads.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("started calls are exact in any order of waiting") {
  const int P = GENERATE(range(1, 9));
  INFO("P = " << P);
  CHECK(failures_on_nodes(nodes_of_two(P), check_many_outstanding) == "");
  CHECK(failures_on_threads(P, check_one_layer_many_times) == "");
  CHECK(failures_on_threads(P, check_sparse_factors) == "");
}

TEST_CASE("errors of started calls come out of their handles") {
  const int P = GENERATE(1, 2, 5);
  CHECK(failures_on_threads(P, check_errors) == "");
}

TEST_CASE("handles that are dropped, moved or outlive their layer are safe") {
  const int P = GENERATE(1, 4);
  CHECK(failures_on_threads(P, check_destroyed_handles) == "");
}

TEST_CASE("a handle may outlive its communicator") {
  std::vector<Pending> outliving(3);
  std::vector<float> a(6, 1);
  run_on_threads(3, [&](Transport& transport) {
    std::vector<float> G(4);
    OuterProduct<float> layer(transport, {.rows = 2, .columns = 2, .max_pairs = 1});
    outliving[static_cast<std::size_t>(transport.rank())] =
        layer.start({{a.data(), 1, 2}, {a.data(), 1, 2}}, {G.data(), 2, 2});
  });
  for (Pending& pending : outliving) CHECK(pending.test());
}

TEST_CASE("calls go on while nobody waits") {
  std::atomic<int> ended = 0;
  CHECK(failures_on_threads(3, [&](Transport& transport, Failures& failures) {
          Job<float> job(transport, 3, 4, 1, "auto");
          failures.check(!job.layer().plan().runs_at_wait, "the plan says that calls run at wait()");
          if (transport.rank() > 0) {  // blocks until rank 0 has done its part, which neither waits nor tests
            job.run(1);
            ++ended;
            return;
          }
          const Pending pending = job.start(1);
          const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
          while (ended < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
          failures.check(ended == 2, "nothing happened");
        }) == "");
}

TEST_CASE("a rank that throws ends started calls of the others") {
  const auto body = [](Transport& transport) {
    const float one = 1;
    float G = 0;
    OuterProduct<float> layer(transport, {.rows = 1, .columns = 1});
    if (transport.rank() == 1) throw std::runtime_error("rank one has had enough");
    std::vector<Pending> pending;
    for (int i = 0; i < 3; ++i) pending.push_back(layer.start({{&one, 1, 1}, {&one, 1, 1}}, {&G, 1, 1}));
    for (Pending& p : pending) p.wait();
  };
  CHECK_THROWS_WITH(run_on_threads(3, body), "rank one has had enough");
}

TEST_CASE("a started call has its caller's number of threads, and leaves it alone") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          kernels::set_thread_count(3);
          const std::size_t before = kernels::thread_count();
          Job<float> job(transport, 300, 200, 80, "allgather");
          job.start(1).wait();
          failures.check(job.exact(), "G is wrong");
          failures.check(kernels::thread_count() == before, "the number of threads has changed");
        }) == "");
}

TEST_CASE("a plan says that started calls run at wait()") {
  Plan plan = make_plan({.rows = 3, .columns = 3, .pairs = {1, 1}}, Machine{});
  const auto text = [&] { return (std::ostringstream() << plan).str(); };
  CHECK(text().find("wait()") == std::string::npos);
  plan.runs_at_wait = true;
  CHECK(text().find("started calls run at wait(): MPI was not initialized with MPI_THREAD_MULTIPLE") !=
        std::string::npos);
}
