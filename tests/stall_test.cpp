#include <catch2/catch.hpp>

#include <chrono>
#include <cmath>
#include <limits>

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
