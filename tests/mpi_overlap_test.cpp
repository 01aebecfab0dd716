// Started calls and the stall watch over real MPI, with the level of threads that the environment variable
// DSOP_TEST_THREAD_LEVEL names.
#include <catch2/catch.hpp>

#include <atomic>
#include <cstdlib>
#include <functional>

#include <dsop/counting.hpp>
#include <dsop/mpi.hpp>
#include <dsop/sparse_allreduce.hpp>

#include "collectives_cases.hpp"
#include "mpi_failures.hpp"
#include "overlap_cases.hpp"
#include "stall_cases.hpp"
#include "synchronizer_conservation.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

bool has_all_levels() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

}  // namespace

TEST_CASE("started calls are exact over MPI") {
  Failures failures;
  check_many_outstanding(world(), failures);
  check_one_layer_many_times(world(), failures);
  check_sparse_factors(world(), failures);
  check_errors(world(), failures);
  check_destroyed_handles(world(), failures);
  check_started_collectives(world(), failures);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("the plan says whether started calls run at wait()") {
  Failures failures;
  Job<float> job(world(), 3, 4, 1, "auto");
  failures.check(job.layer().plan().runs_at_wait != has_all_levels(), "runs_at_wait is wrong");
  const Pending pending = job.start(1);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("a synchronizer is exact over MPI and loses nothing, and says when it runs in finish()") {
  Failures failures;
  check_exact_policies<float>(world(), failures);
  check_conservation<double>(world(), failures);
  Model<float> model(world(), "dense");
  const bool says = model.synchronizer().describe().find("everything runs in finish()") != std::string::npos;
  failures.check(says != has_all_levels(), model.synchronizer().describe());
  const std::string error = argument_error_of([&] {
    model.synchronizer().begin();
    std::vector<float> bias(17);
    if (world().rank() == 0) model.synchronizer().give("first.bias", {bias.data(), 1, 17});
    model.synchronizer().finish();
  });
  failures.check(world().size() == 1 || error.find("first.bias on rank 0") != std::string::npos, error);
  model.run(1);
  failures.check(model.wrong(1).empty(), "the step after an error is wrong");
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("started calls go on beside the program's own MPI calls") {
  Failures failures;
  std::vector<std::unique_ptr<Job<float>>> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(std::make_unique<Job<float>>(world(), 150, 130, 3, "auto"));
  for (std::uint64_t step = 1; step <= 5; ++step) {
    std::vector<Pending> pending;
    for (auto& job : jobs) pending.push_back(job->start(step));
    int ones = 1;
    MPI_Allreduce(MPI_IN_PLACE, &ones, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    failures.check(ones == world().size(), "the program's own call is wrong");
    for (auto& p : pending) p.wait();
    for (auto& job : jobs) failures.check(job->exact(), "a started call is wrong");
  }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("communicators complete and end what was started on them") {
  Failures failures;
  for (int i = 0; i < 200; ++i) {
    MPI_Comm mine = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    Pending pending;
    Job<float> job(TransportOf<MPI_Comm>::get(mine), 9, 8, 1, "auto");
    CountingTransport counting(TransportOf<MPI_Comm>::get(mine));
    Job<float> counted(counting, 7, 6, 2, "auto");
    pending = job.start(1);
    Pending second = counted.start(2);
    MPI_Comm_free(&mine);
    failures.check(job.exact() && counted.exact(), "G is wrong");
    failures.check(pending.test() && second.test(), "a handle outlived its communicator and is not done");
  }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("a communicator whose end waits for a call keeps no other communicator waiting") {
  if (world().size() < 2) return;
  Failures failures;
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  const bool is_late = world().rank() == world().size() - 1;
  std::atomic<int> seen_ranks = 0;
  Job<float> job(TransportOf<MPI_Comm>::get(mine), 9, 8, 1, "auto");
  set_stall_watch(mine, {.limit_seconds = 0.1, .on_stall = [&](const Stall&) { seen_ranks = world().size(); }});
  sleep_seconds(is_late ? 1 : 0);
  const Pending pending = job.start(1);
  MPI_Comm_free(&mine);
  failures.check(job.exact(), "G is wrong");
  failures.check(is_late || seen_ranks == world().size(), "nothing else was used meanwhile");
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("late ranks are reported over MPI, again and again", "[waits]") {
  if (world().size() < 2) return;
  Failures failures;
  const int last = world().size() - 1;
  check_late_ranks(world(), {last}, true, failures);
  if (last > 2) {
    check_late_ranks(world(), {1, last}, false, failures);
  } else {
    check_late_ranks(world(), {last}, false, failures);
    check_late_ranks(world(), {0}, false, failures);
    check_unreported(world(), failures);
  }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("a watch that throws ends the call over MPI", "[waits]") {
  if (world().size() < 2) return;
  Failures failures;
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  check_throwing_watch(TransportOf<MPI_Comm>::get(mine), failures);
  CHECK(failures_of_all(failures) == "");
  MPI_Comm_free(&mine);
}

// A program's static that takes its time to end, after those of the library.
struct SlowEnd {
  bool is_slow = false;
  ~SlowEnd() {
    if (is_slow) sleep_seconds(0.5);
  }
} slow_end;

// Each ends the program on rank 0, with status 7, while the others wait for a message from it; mpirun must end them.
void exit_on_rank_0_alone(void (*exit_on)(Job<float>& job)) {
  Job<float> job(world(), 5, 6, 1, "auto");
  if (world().rank() == 0) exit_on(job);
  int number = 0;
  MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

TEST_CASE("exit with a call that was started", "[.exits]") {
  exit_on_rank_0_alone([](Job<float>& job) {
    const Pending pending = job.start(1);
    std::exit(7);
  });
}

TEST_CASE("exit from within a call that was started", "[.exits]") {
  exit_on_rank_0_alone([](Job<float>& job) {
    set_stall_watch(world(), {.limit_seconds = 0.1, .on_stall = [](const Stall&) { std::exit(7); }});
    job.start(1).wait();
  });
}

TEST_CASE("exit while calls run that were started", "[.exits]") {
  constexpr std::size_t calls = 20000;
  std::vector<float> data(calls);
  std::vector<Pending> pending;
  for (std::size_t length = 1; length < calls; ++length)
    pending.push_back(start_allreduce<float>(world(), std::span(data).first(length % 500)));
  if (world().rank() == 0) {
    slow_end.is_slow = true;
    std::exit(7);
  }
  int number = 0;
  MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

TEST_CASE("exit after a call behind MPI_Finalize", "[.exits]") {
  std::vector<float> data(3);
  Job<float> job(world(), 5, 6, 1, "auto");
  SparseAllreduce<float> sparse(world());
  job.run(1);
  MPI_Finalize();
  for (const auto& call : {std::function<void()>([&] { job.run(2); }),
                           std::function<void()>([&] { job.start(2).wait(); }), std::function<void()>([&] {
                             static_cast<void>(sparse.run({3, {}, data}));
                           })})
    CHECK_THROWS_WITH(call(), "MPI is finalized, expected a call before");
  if (Catch::getResultCapture().lastAssertionPassed()) std::exit(7);
}

int main(int argc, char** argv) {
  const char* const name = std::getenv("DSOP_TEST_THREAD_LEVEL");
  const bool funneled = name != nullptr && std::string(name) == "funneled";
  return run_tests_over_mpi(argc, argv, funneled ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE);
}
