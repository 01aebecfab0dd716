#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "failures.hpp"
#include "stall_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("ranks that do not come are reported, and may come later") {
  CHECK(failures_on_threads(5, [](Transport& transport, Failures& failures) {
          check_late_ranks(transport, {1, 3, 4}, false, failures);
          check_late_ranks(transport, {0}, false, failures);
          check_late_ranks(transport, {2}, true, failures);
        }) == "");
}

TEST_CASE("a watch that throws ends the call") {
  CHECK(failures_on_threads(
            4, [](Transport& transport, Failures& failures) { check_throwing_watch(transport, failures); }) == "");
}

TEST_CASE("a communicator is refused after an exception out of on_stall, and after a rank was lost") {
  for (const bool by_callback : {true, false}) {
    std::atomic<bool> has_stalled = false;
    CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
            Job<float> job(transport, 5, 6, 1, "auto");
            job.run(1);
            while (transport.rank() == 1 && by_callback && !has_stalled) sleep_seconds(0.01);
            if (transport.rank() == 1) return;
            if (by_callback)
              set_stall_watch(transport, {.limit_seconds = 0.1, .on_stall = [&](const Stall&) -> void {
                                            has_stalled = true;
                                            throw std::runtime_error("no patience");
                                          }});
            std::string error;
            try {
              job.run(2);
            } catch (const std::runtime_error& failure) {
              error = failure.what();
            }
            failures.check(error == (by_callback ? "no patience" : "rank 0 waits for rank 1, which has ended"), error);
            check_refused(transport, job, "outer product 5 x 6 f32: " + error, failures);
          }) == "");
  }
}

TEST_CASE("what ranks have agreed to refuse leaves the communicator as it was") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          std::vector<float> data(3, 1);
          for (int time = 0; time < 2; ++time) {
            const std::string error = argument_error_of(
                [&] { allreduce<float>(transport, data, {.algorithm = transport.rank() == 1 ? "no" : "auto"}); });
            failures.check(!error.empty(), "no error");
          }
          allreduce<float>(transport, data);
          failures.check(data == std::vector<float>(3, 3), "the sum is wrong");
        }) == "");
}

TEST_CASE("on_stall that calls on the communicator that waits is refused, and the wait goes on") {
  for (const bool started : {false, true}) {
    std::atomic<bool> has_stalled = false;
    CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
            Job<float> job(transport, 5, 6, 1, "auto");
            job.run(1);
            while (transport.rank() == 1 && !has_stalled) sleep_seconds(0.01);
            std::vector<std::string> errors;
            const auto on_stall = [&](const Stall&) {
              std::vector<float> data(3, 1);
              Pending pending;
              for (const auto& call :
                   {std::function<void()>([&] { allreduce<float>(transport, data); }),
                    std::function<void()>([&] { pending = start_allreduce<float>(transport, data); }),
                    std::function<void()>([&] { set_stall_watch(transport, {}); }),
                    std::function<void()>([&] { static_cast<void>(machine(transport)); })})
                errors.push_back(argument_error_of(call));
              has_stalled = true;
            };
            if (transport.rank() == 0) set_stall_watch(transport, {.limit_seconds = 0.1, .on_stall = on_stall});
            if (started)
              job.start(2).wait();
            else
              job.run(2);
            failures.check(job.exact(), "the call is wrong");
            failures.check(errors.empty() == (transport.rank() == 1), "on_stall was not called");
            for (const std::string& error : errors)
              failures.check(error ==
                                 "the communicator is within call 3, outer product 5 x 6 f32, which on_stall "
                                 "reports: expected no call from there on the same communicator",
                             error);
          }) == "");
  }
}

TEST_CASE("an object may end within on_stall when its calls are complete") {
  std::atomic<bool> has_stalled = false;
  CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
          auto former = std::make_unique<Job<float>>(transport, 5, 6, 1, "auto");
          former->start(1).wait();
          Job<float> job(transport, 5, 6, 1, "auto");
          while (transport.rank() == 1 && !has_stalled) sleep_seconds(0.01);
          const auto on_stall = [&](const Stall&) {
            former.reset();
            has_stalled = true;
          };
          if (transport.rank() == 0) set_stall_watch(transport, {.limit_seconds = 0.1, .on_stall = on_stall});
          job.start(2).wait();
          failures.check(job.exact(), "the call is wrong");
        }) == "");
}

TEST_CASE("limit 0 watches nothing, and what comes in time is not reported") {
  CHECK(failures_on_threads(3, check_unreported) == "");
}

TEST_CASE("limits that make no sense are refused") {
  run_on_threads(1, [](Transport& transport) {
    CHECK_THROWS_WITH(set_stall_watch(transport, {.limit_seconds = -1}), "limit_seconds is -1, expected 0 or more");
    CHECK_THROWS_AS(set_stall_watch(transport, {.limit_seconds = std::nan("")}), ArgumentError);
    set_stall_watch(transport, {.limit_seconds = std::numeric_limits<double>::infinity(), .throws = true});
  });
}
