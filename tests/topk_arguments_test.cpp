// The selecting allreduces' state, saved and read, and what is said about bad states and bad calls.
#include <catch2/catch.hpp>

#include <limits>

#include "base/named.hpp"
#include "call/call_state.hpp"
#include "topk_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("a state that was saved goes on as if nothing had happened", "[topk]") {
  const TopKCase c{1000, 60, bench::Distribution::power_law};
  CHECK(failures_on_threads(3, [&](Transport& transport, Failures& failures) {
          for (const std::string& algorithm : topk_names()) {
            TopKAllreduce<float> one(transport, c.elements, {.algorithm = algorithm});
            std::vector<float> values(c.elements);
            for (std::size_t step = 0; step < 9; ++step) {
              const std::vector<float> gradient = whole_gradient<float>(c, transport.rank(), step);
              for (std::size_t i = 0; i < c.elements; ++i) values[i] += gradient[i];
              std::vector<float> copy = values;
              const std::string text = one.state().text();
              failures.check(TopKState::from_text(text) == one.state(), "another state than\n" + text);
              TopKAllreduce<float> other(transport, c.elements, {.algorithm = algorithm}, TopKState::from_text(text));
              const TopKSum<float> result = one.run(values, c.k);
              failures.check(hash_of(other.run(copy, c.k).sum) == hash_of(result.sum), algorithm + ": another sum");
              failures.check(copy == values, algorithm + ": another residual");
              failures.check(other.state() == one.state(), algorithm + ": another state");
            }
          }
        }) == "");
}

TEST_CASE("a state that is malformed is refused, with the line", "[topk]") {
  const TopKState state{{12, 34, 0.1}, std::numeric_limits<double>::quiet_NaN(), {0, 4, 4, 9}};
  const std::string good = state.text();
  CHECK(good == "dsop top-k state 1\nstep 12\nseed 34\nlocal threshold 0.1\nglobal threshold nan\nbounds 4 0 4 4 9\n");
  CHECK(TopKState::from_text(good).text() == good);
  const auto error_with = [&](const std::string& part, const std::string& instead) {
    std::string text = good;
    return argument_error_of(
        [&] { static_cast<void>(TopKState::from_text(text.replace(text.find(part), part.size(), instead))); });
  };
  CHECK(error_with("state 1", "state 2") ==
        "line 1 of a top-k state is \"dsop top-k state 2\", expected \"dsop top-k state 1\", all that, and its end");
  CHECK(error_with("step 12", "step -1") ==
        "line 2 of a top-k state is \"step -1\", expected a whole number below 2^64");
  CHECK(error_with("34", "34 5") == "line 3 of a top-k state is \"seed 34 5\", expected nothing after the number");
  CHECK(error_with("0.1", "-0.1") ==
        "line 4 of a top-k state is \"local threshold -0.1\", expected a number of at least 0");
  CHECK(error_with("nan", "much") == "line 5 of a top-k state is \"global threshold much\", expected a number");
  CHECK(error_with("bounds 4", "bounds 5") ==
        "line 6 of a top-k state is \"bounds 5 0 4 4 9\", expected as many bounds as it says");
  CHECK(error_with("4 4 9", "4 3 9") == "line 6 of a top-k state is \"bounds 4 0 4 3 9\", expected bounds that rise");
  CHECK(error_with("9\n", "9\nmore\n") == "a top-k state goes on after its 6 lines, expected its end");
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_THROWS_AS(TopKState::from_text(good.substr(0, size)), ArgumentError);
}

TEST_CASE("a bad argument of a selecting allreduce throws on all ranks, and names what is wrong", "[topk]") {
  struct Call {
    std::size_t elements = 10;
    std::size_t values = 10;
    std::size_t k = 2;
    TopKOptions options = {};
    TopKState state = {};
    std::size_t beyond_bytes = 0;  // an element's address
  };
  const auto error_when_rank_1_makes = [](const Call& bad) {
    std::string error;
    const std::string failures = failures_on_threads(3, [&](Transport& transport, Failures& failed) {
      const Call call = transport.rank() == 1 ? bad : Call{};
      std::vector<float> values(call.values, 5);
      TopKAllreduce<float> allreduce(transport, call.elements, call.options, call.state);
      const auto address = reinterpret_cast<std::uintptr_t>(values.data()) + call.beyond_bytes;
      const std::span<float> given(reinterpret_cast<float*>(address), values.size());
      const std::string text = argument_error_of([&] { static_cast<void>(allreduce.run(given, call.k)); });
      if (transport.rank() == 1) error = text;
      failed.check(!text.empty(), "no error");
      failed.check(values == std::vector<float>(call.values, 5), "the values have changed");
      failed.check(allreduce.state() == call.state, "the state has changed");
      TopKAllreduce<float> next(transport, 10);
      values.assign(10, 5);
      failed.check(in_full(next.run(values, 10).sum) == std::vector<float>(10, 15), "the next call is wrong");
    });
    return failures + error;
  };
  CHECK(error_when_rank_1_makes({.values = 9}) == "rank 1: values.size() is 9, expected the elements, 10");
  CHECK(error_when_rank_1_makes({.beyond_bytes = 2}) ==
        "rank 1: values is at an address 2 bytes beyond an element's, expected a multiple of 4");
  CHECK(error_when_rank_1_makes({.k = 11}) == "rank 1: k is 11, expected at most values.size() = 10");
  CHECK(error_when_rank_1_makes({.k = 3}) == "the ranks disagree: k is 2 on ranks 0, 2, 3 on rank 1");
  CHECK(error_when_rank_1_makes({.elements = 9, .values = 9}) ==
        "the ranks disagree: elements is 10 on ranks 0, 2, 9 on rank 1");
  CHECK(error_when_rank_1_makes({.options = {.algorithm = "ok-topc"}}) ==
        "rank 1: algorithm is ok-topc, expected one of " + topk_algorithms().names());
  CHECK(error_when_rank_1_makes({.options = {.algorithm = "topk(3)"}}) ==
        "rank 1: the algorithm that sums in topk(3) is 3, expected auto or one of " + sparse_algorithms().names());
  CHECK(error_when_rank_1_makes({.options = {.algorithm = "topk(allgather"}}) ==
        "rank 1: algorithm is topk(allgather, expected topk(ALGORITHM), of the family \"sparse\"");
  CHECK(error_when_rank_1_makes({.options = {.algorithm = "gaussian-k(allgather)"}}) ==
        "rank 1: algorithm is gaussian-k(allgather), expected gaussian-k without a number");
  CHECK(
      error_when_rank_1_makes({.options = {.algorithm = "ok-topk-published(0.5)"}}) ==
      "rank 1: the number of ok-topk-published(0.5), its steps between two evaluations of thresholds, is 0.5, expected "
      "a whole number, 1 or more");
  CHECK(error_when_rank_1_makes({.options = {.algorithm = "ok-topk-adapting(2,0)"}}) ==
        "rank 1: the number of ok-topk-adapting(2,0), its steps between two partitions into regions, is 0, expected a "
        "whole number, 1 or more");
  for (const char* const wrong :
       {"ok-topk-published(2,3,4)", "ok-topk-published(2,", "ok-topk-published(", "ok-topk-published(2,x)"})
    CHECK(error_when_rank_1_makes({.options = {.algorithm = wrong}}) ==
          std::string("rank 1: algorithm is ") + wrong +
              ", expected ok-topk-published(NUMBER,NUMBER), the numbers being its steps between two evaluations of "
              "thresholds and its steps between two partitions into regions");
  CHECK(
      error_when_rank_1_makes({.options = {.algorithm = "ok-topk(2,3)"}}) ==
      "rank 1: algorithm is ok-topk(2,3), expected ok-topk(NUMBER), the number being its steps between two evaluations "
      "of thresholds");
  CHECK(error_when_rank_1_makes({.options = {.algorithm = "ok-topk(0.5)"}}) ==
        "rank 1: the number of ok-topk(0.5), its steps between two evaluations of thresholds, is 0.5, expected a whole "
        "number, 1 or more");
  CHECK(error_when_rank_1_makes({.options = {.algorithm = "gtopk"}}) ==
        "the ranks disagree: algorithm is gtopk on rank 1, ok-topk on ranks 0, 2");
  CHECK(error_when_rank_1_makes({.options = {.wire = Wire::bf16}}) ==
        "the ranks disagree: wire is bf16 on rank 1, full on ranks 0, 2");
  CHECK(error_when_rank_1_makes({.options = {.machine = Machine{.gap_seconds = 0}}}) ==
        "rank 1: machine.gap_seconds is 0, expected a finite number above 0");
  CHECK(error_when_rank_1_makes({.state = {.selection = {.step = 4}}}) ==
        "the ranks disagree: the state's step is 0 on ranks 0, 2, 4 on rank 1");
  CHECK_THAT(error_when_rank_1_makes({.state = {.global_threshold = 1}}),
             Catch::StartsWith("the ranks disagree: the hash of the state's global threshold and bounds is "));
  CHECK(error_when_rank_1_makes({.state = {.bounds = {0, 5, 4, 10}}}) ==
        "rank 1: state.bounds[2] is 4, expected at least 5");
  CHECK(error_when_rank_1_makes({.state = {.bounds = {0, 5, 7, 9}}}) ==
        "rank 1: the last of state.bounds is 9, expected the elements, 10");
}

TEST_CASE("two objects that one rank uses in another order are an error on all ranks", "[topk]") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          for (const std::string& name : topk_names()) {
            const std::uint64_t before = transport.calls().calls;
            TopKAllreduce<float> one(transport, 10, {.algorithm = name});
            TopKAllreduce<float> two(transport, 10, {.algorithm = name});
            const std::string error = argument_error_of([&] {
              std::vector<float> values(10, 5);
              static_cast<void>((transport.rank() == 1 ? two : one).run(values, 2));
            });
            const std::string expected =
                "the ranks disagree: the object whose call it is (0: none, i: made by call i) is " +
                std::to_string(before + 1) + " on ranks 0, 2, " + std::to_string(before + 2) + " on rank 1";
            failures.check(error == expected, name + ": " + error);
          }
        }) == "");
}

TEST_CASE("values in f64 do not travel as bf16", "[topk]") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          for (const std::string& name : topk_names()) {
            std::vector<double> values(10, 5);
            TopKAllreduce<double> allreduce(transport, 10, {.algorithm = name, .wire = Wire::bf16});
            const std::string error = argument_error_of([&] { static_cast<void>(allreduce.run(values, 2)); });
            failures.check(error == "ranks 0-1: wire is bf16, expected full for values in f64", name + ": " + error);
            failures.check(values == std::vector<double>(10, 5), name + ": the values have changed");
          }
        }) == "");
}

TEST_CASE("numbers of many digits are taken as they are, and named so", "[topk]") {
  CHECK(number_text(1048577) == "1048577");
  CHECK(number_text(1000000) == "1000000");
  CHECK(number_text(0.375) == "0.375");
  for (const double number : {1.0 / 3, 1e-9, 1e300}) CHECK(std::stod(number_text(number)) == number);
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          for (const std::string algorithm : {"topk-per-bucket(1048577)", "ok-topk(1234567)"}) {
            std::vector<float> values(10, 5);
            TopKAllreduce<float> allreduce(transport, 10, {.algorithm = algorithm});
            const std::string used = allreduce.run(values, 2).algorithm;
            failures.check(used.starts_with(algorithm.substr(0, algorithm.size() - 1)), used);
          }
        }) == "");
}

TEST_CASE("costs of a problem that makes no sense are refused", "[topk]") {
  const auto cost = [](const TopKProblem& problem) { return topk_cost(problem, Machine{}, "ok-topk"); };
  CHECK_THROWS_WITH(cost({.elements = 100, .k = 5, .ranks = 0}), "problem.ranks is 0, expected at least 1");
  CHECK_THROWS_WITH(cost({.elements = 100, .k = 500, .ranks = 2}), "problem.k is 500, expected at most the elements");
  CHECK_THROWS_WITH(cost({.elements = 100, .k = 5, .ranks = 2, .group = {.nodes = {0}}}),
                    "nodes.size() is 1, expected one for each of 2 ranks");
  CHECK_THROWS_WITH(make_sparse_plan({.elements = 100, .nonzeros = {5, 5}, .group = {.nodes = {0, -1}}}, Machine{}),
                    "nodes[1] is -1, expected the lowest rank of that rank's node");
}
