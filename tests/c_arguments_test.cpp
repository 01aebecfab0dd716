// dsop.h with arguments of one rank that are wrong, or differ: all ranks refuse the call, and can go on.
#include <dsop/dsop.h>

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "c_errors.hpp"

namespace {

using dsop::tests::contains;

// The ranks of one call: rank 1 makes `theirs`, the others `ours`. All get the same error, with these words in it, and
// can go on.
using CallOfRank = std::function<int(dsop_communicator)>;
struct TwoCalls {
  CallOfRank ours, theirs;
  std::array<std::string, 3> errors = {};
};

int make_call_of_rank(dsop_communicator communicator, void* data) {
  auto& calls = *static_cast<TwoCalls*>(data);
  int rank = 0;
  dsop_communicator_rank(communicator, &rank, nullptr);
  if ((rank == 1 ? calls.theirs : calls.ours)(communicator) != DSOP_ERROR_ARGUMENT) return 1;
  calls.errors[static_cast<std::size_t>(rank)] = dsop_last_error();
  double value = 1;
  const int status = dsop_allreduce(communicator, DSOP_F64, &value, 1, nullptr);
  return status != DSOP_SUCCESS ? status : value == 3 ? 0 : 2;
}

void check_refused_by_all(const std::string& words, CallOfRank ours, CallOfRank theirs) {
  INFO(words);
  TwoCalls calls{std::move(ours), std::move(theirs)};
  CHECK(dsop_run_on_threads(3, make_call_of_rank, &calls, 1) == DSOP_SUCCESS);
  INFO(calls.errors[0]);
  CHECK(contains(calls.errors[0], words));
  CHECK(calls.errors[0] == calls.errors[1]);
  CHECK(calls.errors[0] == calls.errors[2]);
}

// A sum of outer products of 2 pairs, 3 x 2, whose parts a test makes wrong.
struct OuterProductCall {
  std::array<double, 40> memory = {};
  dsop_factor a{memory.data(), 2, 3, 0, nullptr, nullptr, 0};
  dsop_factor b{memory.data() + 10, 2, 2, 0, nullptr, nullptr, 0};
  dsop_matrix gradient{memory.data() + 20, 3, 2, 0};
  dsop_type type = DSOP_F64;
  const char* options = nullptr;

  int operator()(dsop_communicator communicator) const {
    return dsop_sum_outer_products(communicator, type, &a, &b, &gradient, options);
  }
};

void check_refused(const std::string& words, void (*spoil)(OuterProductCall&)) {
  const auto good = std::make_shared<OuterProductCall>(), bad = std::make_shared<OuterProductCall>();
  spoil(*bad);
  check_refused_by_all(
      words, [good](dsop_communicator communicator) { return (*good)(communicator); },
      [bad](dsop_communicator communicator) { return (*bad)(communicator); });
}

}  // namespace

TEST_CASE("null pointers of one rank are refused by all") {
  check_refused("a", [](OuterProductCall& call) { call.a.values = nullptr; });
  check_refused("b", [](OuterProductCall& call) { call.b.values = nullptr; });
  check_refused("gradient", [](OuterProductCall& call) { call.gradient.values = nullptr; });
  double value = 1;
  check_refused_by_all(
      "data is null",
      [](dsop_communicator communicator) {
        std::array<double, 3> values{};
        return dsop_allreduce(communicator, DSOP_F64, values.data(), 3, nullptr);
      },
      [](dsop_communicator communicator) { return dsop_allreduce(communicator, DSOP_F64, nullptr, 3, nullptr); });
  check_refused_by_all(
      "pending is null",
      [&](dsop_communicator communicator) {
        dsop_pending pending = 0;
        double own = value;
        const int status = dsop_start_allreduce(communicator, DSOP_F64, &own, 1, nullptr, &pending);
        return status == DSOP_SUCCESS ? dsop_wait(pending) : status;
      },
      [&](dsop_communicator communicator) {
        return dsop_start_allreduce(communicator, DSOP_F64, &value, 1, nullptr, nullptr);
      });
}

TEST_CASE("wrong shapes of one rank are refused by all") {
  check_refused("a.columns is 4, expected gradient.rows = 3", [](OuterProductCall& call) { call.a.columns = 4; });
  check_refused("b.rows is 3", [](OuterProductCall& call) { call.b.rows = 3; });
  check_refused("b.columns is 3", [](OuterProductCall& call) { call.b.columns = 3; });
}

TEST_CASE("wrong strides of one rank are refused by all") {
  check_refused("a.stride is 2, expected at least a.columns = 3", [](OuterProductCall& call) { call.a.stride = 2; });
  check_refused("b.stride is 1", [](OuterProductCall& call) { call.b.stride = 1; });
  check_refused("gradient.stride is 1", [](OuterProductCall& call) { call.gradient.stride = 1; });
}

TEST_CASE("a result of one rank that overlaps its factors is refused by all") {
  check_refused("overlaps", [](OuterProductCall& call) { call.gradient.values = call.memory.data() + 11; });
  check_refused("overlaps", [](OuterProductCall& call) { call.gradient.values = call.memory.data(); });
}

TEST_CASE("wrong types of one rank are refused by all") {
  check_refused("type is 7, expected DSOP_F32 or DSOP_F64", [](OuterProductCall& call) { call.type = 7; });
  check_refused("type is -1", [](OuterProductCall& call) { call.type = -1; });
}

TEST_CASE("ranks whose types differ are refused") {
  check_refused("data type", [](OuterProductCall& call) { call.type = DSOP_F32; });
}

TEST_CASE("ranks whose shapes differ are refused") {
  check_refused("rows", [](OuterProductCall& call) {
    call.a.columns = 4;
    call.gradient.rows = 4;
  });
  check_refused("columns", [](OuterProductCall& call) {
    call.b.columns = 1;
    call.gradient.columns = 1;
  });
}

TEST_CASE("alpha and beta of one rank that are not numbers, or differ, are refused by all") {
  check_refused("beta is x, expected a number", [](OuterProductCall& call) { call.options = "beta=x"; });
  check_refused("alpha", [](OuterProductCall& call) { call.options = "alpha=nan"; });
  check_refused("alpha", [](OuterProductCall& call) { call.options = "alpha=2"; });
  check_refused("beta", [](OuterProductCall& call) { call.options = "beta=1"; });
  check_refused("density_a", [](OuterProductCall& call) { call.options = "density_a=0.5"; });
}

TEST_CASE("sparse vectors of one rank with wrong indices are refused by all, started or not") {
  static const std::array<std::uint32_t, 2> rising{1, 3}, falling{3, 1};
  static const std::array<double, 2> values{1, 2};
  for (const bool started : {false, true}) {
    const auto sum_of = [started](const std::array<std::uint32_t, 2>& indices) {
      return [&indices, started](dsop_communicator communicator) -> int {
        const dsop_vector own{5, 2, indices.data(), values.data()};
        dsop_sum sum = 0;
        dsop_pending pending = 0;
        if (!started) return dsop_sum_sparse(communicator, DSOP_F64, &own, nullptr, &sum);
        const int status = dsop_start_sum_sparse(communicator, DSOP_F64, &own, nullptr, &sum, &pending);
        if (status != DSOP_SUCCESS) return DSOP_ERROR_OTHER;
        const int ended = dsop_wait(pending);
        const std::string error = dsop_last_error();
        if (dsop_sum_get(sum, nullptr, nullptr) != DSOP_ERROR_ARGUMENT) return 9;  // there is none
        dsop_sum_free(sum);
        dsop_communicator_fail(communicator, error.c_str());
        return ended;
      };
    };
    check_refused_by_all("ndices", sum_of(rising), sum_of(falling));
  }
}
