#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <sstream>

#include "overlap_cases.hpp"

#include "kernels/threads.hpp"
#include "transport/interrupt.hpp"

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

TEST_CASE("signals are the program's: the thread that runs started calls gets none") {
  std::atomic<bool> is_reported = false;  // a stall, on the thread that waits: only then does rank 1 come
  std::atomic<bool> is_blocked = false;
  const auto look = [&](const Stall&) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    is_blocked = sigismember(&blocked, SIGUSR1) == 1 && sigismember(&blocked, SIGINT) == 1;
    is_reported = true;
  };
  CHECK(failures_on_threads(2, [&](Transport& transport, Failures&) {
          Job<float> job(transport, 3, 4, 1, "auto");
          if (transport.rank() == 0) set_stall_watch(transport, {.limit_seconds = 0.1, .on_stall = look});
          for (int i = 0; transport.rank() == 1 && !is_reported && i < 200; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
          job.start(1).wait();
        }) == "");
  CHECK(is_blocked);
}

TEST_CASE("who drops a handle, or a layer, waits for its call, though waits are interrupted") {
  for (const bool drops_layer : {false, true}) {
    std::atomic<bool> is_interrupted = !drops_layer;  // rank 0's wait: only then does rank 1 come
    CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
            const std::vector<float> ones(5, 1);
            std::vector<float> G(6);
            std::optional<OuterProduct<float>> layer(std::in_place, transport, Shape{2, 3, 1});
            const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); };
            for (int i = 0; transport.rank() == 1 && (i == 0 || (!is_interrupted && i < 100)); ++i) sleep();
            std::optional<Pending> pending(layer->start({{ones.data(), 1, 2}, {ones.data(), 1, 3}}, {G.data(), 2, 3}));
            if (transport.rank() == 0) set_interrupt_check([] { return 1; });
            if (drops_layer) {
              try {
                pending->wait();
                failures.check(transport.rank() == 1, "the wait is not interrupted");
              } catch (const Interrupted&) {
                is_interrupted = true;
              }
              layer.reset();
            } else {
              pending.reset();
            }
            set_interrupt_check(nullptr);
            failures.check(G == std::vector<float>(6, 2), "the call has not ended");
          }) == "");
  }
}

TEST_CASE("a layer's started calls have an algorithm that takes no time of the program's to hide products") {
  Machine machine;
  machine.hidden_share = 1;
  machine.gap_per_byte_seconds = 1e-8;
  constexpr std::size_t n = 600;
  constexpr std::size_t k = 60;
  const Problem problem{.rows = n, .columns = n, .pairs = {k, k, k}};
  const auto chosen = [&](bool started) {
    Problem asked = problem;
    asked.started = started;
    return make_plan(asked, machine);
  };
  const std::string of_run = chosen(false).algorithm_name();
  const std::string of_start = chosen(true).algorithm_name();
  REQUIRE(of_run != of_start);
  CHECK(chosen(false).cost().hidden_seconds > 0);
  CHECK(chosen(true).cost().hidden_seconds == 0);
  CHECK((std::ostringstream() << chosen(true)).str().find(", started while the program computes;") !=
        std::string::npos);
  CHECK(failures_on_threads(3, [&](Transport& transport, Failures& failures) {
          std::vector<float> ones(k * n, 1), G(n * n);
          OuterProduct<float> layer(transport, {n, n, k}, {.machine = machine});
          const auto check = [&](const std::string& expected) {
            failures.check(layer.plan().algorithm_name() == expected, layer.plan().algorithm_name());
            failures.check(G == std::vector<float>(n * n, 3 * k), "G is wrong");
            G.assign(G.size(), 7);
          };
          const Factors<float> factors{{ones.data(), k, n}, {ones.data(), k, n}};
          const MatrixView<float> gradient(G.data(), n, n);
          failures.check(layer.plan().algorithm_name() == of_run, "it is prepared for another");
          layer.run(factors, gradient);
          check(of_run);
          layer.start(factors, gradient).wait();
          check(of_start);
          if (transport.rank() == 1)  // who starts a call that others make themselves
            layer.start(factors, gradient).wait();
          else
            layer.run(factors, gradient);
          check(of_start);
          layer.run(factors, gradient);
          check(of_run);
          OuterProduct<float> named(transport, {n, n, k}, {.algorithm = of_run, .machine = machine});
          named.start(factors, gradient).wait();
          failures.check(named.plan().algorithm_name() == of_run, "another algorithm than the named one");
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
