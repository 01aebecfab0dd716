// What the library shows of calls: measured beside predicted, who came late, reports.
#include <catch2/catch.hpp>

#include <sstream>

#include <dsop/dsop.hpp>
#include <dsop/synchronizer.hpp>

#include "call/call.hpp"
#include "call/report.hpp"
#include "environment.hpp"
#include "failures.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

std::vector<Record> waits(const std::vector<double>& seconds) {
  std::vector<Record> records(seconds.size());
  for (std::size_t r = 0; r < seconds.size(); ++r) records[r].take_last_wait(seconds[r]);
  return records;
}

void sum(Transport& transport, std::size_t n, const Options& options = {}) {
  const std::vector<double> ones(n, 1);
  std::vector<double> G(n * n);
  dsop::dsop<double>(transport, {{ones.data(), 1, n}, {ones.data(), 1, n}}, {G.data(), n, n}, options);
}

}  // namespace

TEST_CASE("waits of the call before are told within 3.2 %, and no plan depends on them") {
  Record record;
  for (const double seconds : {1e-9, 3e-6, 0.5, 1000.0}) {
    record.take_last_wait(seconds);
    CHECK(record.last_wait_seconds() == Approx(seconds).epsilon(0.032));
  }
  CHECK(record.numbers() == Record().numbers());
}

TEST_CASE("who waits least came last") {
  CallLog log(3);
  log.take_waits(std::vector<Record>(3));  // before any call
  CHECK(log.arrivals().calls == 0);
  log.take_waits(waits({0.4, 0.1, 0.2}));
  log.take_waits(waits({0.1, 0.3, 0.5}));
  log.take_waits(waits({0.8, 0.2, 0.8}));
  const Arrivals& arrivals = log.arrivals();
  CHECK(arrivals.calls == 3);
  CHECK(arrivals.came_last == std::vector<std::uint64_t>{1, 2, 0});
  const std::vector<double> last{0, 0.6, 0}, mean{0.4 / 3, 1.1 / 3, 0.2 / 3};
  for (std::size_t r = 0; r < 3; ++r) {
    CHECK(arrivals.last_seconds[r] == Approx(last[r]).margin(0.04));
    CHECK(arrivals.mean_seconds[r] == Approx(mean[r]).margin(0.04));
  }
}

TEST_CASE("measured times are the last, and the median of the last 16") {
  CallLog log(2);
  const std::size_t row = log.row_of({.operation = "a"});
  CHECK(log.row_of({.operation = "a"}) == row);
  for (int call = 0; call < 40; ++call) log.take(row, call < 24 ? 100 : call - 20, 0.5, {2, 80});  // 4 .. 19
  const Measured measured = log.rows()[row].measured();
  CHECK(measured.calls == 40);
  CHECK(measured.last_seconds == 19);
  CHECK(measured.median_seconds == 12);
  CHECK(measured.waited_seconds == 0.5);
  CHECK(measured.predicted_seconds == 2);
  CHECK(measured.is_off());
  CHECK_FALSE(Measured{.calls = 1, .median_seconds = 1.2, .predicted_seconds = 1}.is_off());
  CHECK_FALSE(Measured{.calls = 1, .median_seconds = 1}.is_off());
}

TEST_CASE("a log has an end, and rows keep their place") {
  CallLog log(1);
  std::size_t last = 0;
  for (int shape = 0; shape < 3000; ++shape) last = log.row_of({.operation = std::to_string(shape)});
  CHECK(log.rows().size() == 1000);
  CHECK(log.rows()[last].operation == "other calls");
  CHECK(log.row_of({.operation = "7"}) == 7);
}

TEST_CASE("plans show what calls took, and dsop() what it chose") {
  const std::string failed = failures_on_threads(3, [](Transport& transport, Failures& failures) {
    failures.check(argument_error_of([&] { last_plan(transport); }) ==
                       "last_plan() before any dsop() on this communicator, expected one",
                   "there was a plan before any");
    sum(transport, 30, {.algorithm = "allreduce-ring"});
    sum(transport, 40, {.algorithm = "allgather"});
    sum(transport, 40, {.algorithm = "allgather"});
    const Plan& plan = last_plan(transport);
    failures.check(plan.algorithm_text() == "allgather" && plan.problem.rows == 40, "of another call");
    failures.check(plan.measured.calls == 2 && plan.measured.last_seconds > 0 && plan.measured.predicted_seconds > 0,
                   "nothing was measured");
    std::ostringstream shown;
    shown << plan;
    failures.check(shown.str().find("the median of 2 of 2 calls") != std::string::npos, shown.str());

    OuterProduct<double> layer(transport, {.rows = 40, .columns = 40});
    failures.check(layer.plan().measured.calls == 0, "a call of others was counted");
  });
  CHECK(failed == "");
}

TEST_CASE("all ranks know the same of who comes late") {
  const std::string failed = failures_on_threads(4, [](Transport& transport, Failures& failures) {
    for (int call = 0; call < 5; ++call) sum(transport, 8);
    const Arrivals own = arrivals(transport);
    failures.check(own.calls == 4, "counted " + std::to_string(own.calls) + " calls");
    std::vector<double> known = own.mean_seconds;
    for (const std::uint64_t count : own.came_last) known.push_back(static_cast<double>(count));
    for (int r = 1; r < transport.size(); ++r) {
      if (transport.rank() == r) transport.send(std::span(known), 0);
      if (transport.rank() != 0) continue;
      std::vector<double> theirs(known.size());
      transport.recv(std::span(theirs), r);
      failures.check(theirs == known, "rank " + std::to_string(r) + " knows other arrivals");
    }
  });
  CHECK(failed == "");
}

TEST_CASE("describe() shows what a parameter's sums took") {
  const std::string failed = failures_on_threads(2, [](Transport& transport, Failures& failures) {
    Synchronizer<float> synchronizer(transport);
    synchronizer.add("own", {.rows = 50, .columns = 60}, "dense");
    synchronizer.add("factors", {.rows = 50, .columns = 60, .max_pairs = 2}, "dsop");
    std::vector<float> own(3000), target(3000), a(100), b(120);
    for (int step = 0; step < 3; ++step) {
      synchronizer.begin();
      synchronizer.give("factors", Factors<float>{{a.data(), 2, 50}, {b.data(), 2, 60}}, {target.data(), 50, 60});
      synchronizer.give("own", MatrixView<float>{own.data(), 50, 60});
      synchronizer.finish();
    }
    const std::string table = synchronizer.describe();
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("own") || line.starts_with("factors"))
        failures.check(line.find(" ms      3 ") != std::string::npos, table);
  });
  CHECK(failed == "");
}

TEST_CASE("a report has a row for each kind of call, and says why calls were refused") {
  const std::string failed = failures_on_threads(2, [](Transport& transport, Failures& failures) {
    sum(transport, 30, {.algorithm = "allgather"});
    sum(transport, 30, {.algorithm = "allgather"});
    sum(transport, 30, {.algorithm = "allreduce-ring"});
    const CallLog& log = attachment<CommunicatorState>(transport).log;
    const std::string report = report_of(log, transport, "rank 1 is lost");
    for (const char* const part :
         {"2 ranks over threads", "failed: rank 1 is lost", "outer product 30 x 30 f64  allgather ",
          "outer product 30 x 30 f64  allreduce-ring ", "rank 1 came "})
      failures.check(report.find(part) != std::string::npos, report);
  });
  CHECK(failed == "");
}

TEST_CASE("a limit of stalls that is no time is refused on all ranks") {
  const Environment environment("DSOP_STALL_SECONDS", "soon");
  const std::string failed = failures_on_threads(2, [](Transport& transport, Failures& failures) {
    const std::string error = argument_error_of([&] { sum(transport, 3); });
    failures.check(error.find("DSOP_STALL_SECONDS is \"soon\", expected seconds, 0 or more") != std::string::npos,
                   error);
  });
  CHECK(failed == "");
}
