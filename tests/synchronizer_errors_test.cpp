// Wrong steps of a synchronizer: arguments, calls in a wrong order, and ranks whose steps differ.
#include <catch2/catch.hpp>

#include <sstream>

#include <dsop/collectives.hpp>

#include "stall_cases.hpp"
#include "synchronizer_misuse.hpp"
#include "transport/interrupt.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("two synchronizers that one rank steps in another order are an error on all ranks") {
  for (const char* const policy : {"dsop", "dense", "dense-overlapped", "sparse", "topk:1", "ok-topk:1", "none"})
    CHECK(failures_on_threads(3, [&](Transport& transport, Failures& failures) {
            Synchronizer<float> one(transport), two(transport);
            for (Synchronizer<float>* const each : {&one, &two}) each->add("w", {1, 4, 0}, policy);
            for (const bool first : {true, false}) {
              Synchronizer<float>& mine = (transport.rank() == 1) == first ? two : one;
              const std::string error = argument_error_of([&] {
                std::vector<float> G(4, 1);
                mine.begin();
                mine.give("w", {G.data(), 1, 4});
                mine.finish();
              });
              const char* const ranks[] = {" on ranks 0, 2, ", " on rank 1"};
              failures.check(error.find("the object whose call it is") != error.npos &&
                                 error.find(ranks[first ? 0 : 1]) != error.npos,
                             policy + (": " + error));
            }
          }) == "");
}

TEST_CASE("a wrong argument of a synchronizer's step is an error on all ranks") {
  CHECK(failures_when("rank 1: parameter wieght: name is wieght, expected one of weight, bias, kernel", [](Rank& rank) {
          rank.synchronizer.begin();
          rank.give_kernel();
          if (rank.is(1))
            rank.synchronizer.give("wieght", {rank.G.data(), 6, 4});
          else
            rank.give_weight();
          rank.synchronizer.finish();
        }) == "");
  CHECK(failures_when("rank 2: parameter kernel: gradient.rows is 1, expected the layer's 2", [](Rank& rank) {
          rank.synchronizer.begin();
          if (rank.is(2))
            rank.synchronizer.give("kernel", {rank.kernel.data(), 1, 100});
          else
            rank.give_kernel();
          rank.give_bias();
          rank.synchronizer.finish();
        }) == "");
  CHECK(failures_when("rank 0: parameter weight: the number of pairs is 2, expected at most the layer's max_pairs = 1",
                      [](Rank& rank) {
                        std::vector<float> a(12), b(8);
                        const std::size_t k = rank.is(0) ? 2 : 1;
                        rank.synchronizer.begin();
                        rank.give_bias();
                        rank.synchronizer.give("weight", {{a.data(), k, 6}, {b.data(), k, 4}}, {rank.G.data(), 6, 4});
                        rank.synchronizer.finish();
                      }) == "");
  CHECK(failures_when("rank 1: parameter kernel: own.indices[1] is 200, expected less than own.dimension = 200",
                      [](Rank& rank) {
                        const std::vector<std::uint32_t> indices{3, rank.is(1) ? 200U : 199U};
                        const std::vector<float> values{1, 1};
                        rank.synchronizer.begin();
                        rank.synchronizer.give("kernel", {.dimension = 200, .indices = indices, .values = values},
                                               {rank.kernel.data(), 2, 100});
                        rank.synchronizer.finish();
                      }) == "");
  CHECK(failures_when("rank 1: parameter kernel: own.dimension is 100, expected the gradient's 200", [](Rank& rank) {
          rank.synchronizer.begin();
          rank.synchronizer.give("kernel", {.dimension = rank.is(1) ? 100U : 200U}, {rank.kernel.data(), 2, 100});
          rank.synchronizer.finish();
        }) == "");
  CHECK(failures_when("rank 2: scale is 1e+60, expected a finite number in f32", [](Rank& rank) {
          rank.synchronizer.begin({.scale = rank.is(2) ? 1e60 : 1});
          rank.give_kernel();
          rank.synchronizer.finish();
        }) == "");
}

TEST_CASE("a scale and a learning rate that are too much together are an error where residuals hold both") {
  for (const bool inside : {false, true})
    CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
            Synchronizer<float> synchronizer(transport, {.residual_holds_step = inside});
            synchronizer.begin({.scale = 1e30, .learning_rate = 1e30});
            const std::string error = argument_error_of([&] { synchronizer.finish(); });
            failures.check(
                error ==
                    (inside ? "ranks 0-1: scale times learning_rate is 1e+60, expected a finite number in f32" : ""),
                error);
          }) == "");
}

TEST_CASE("ranks whose learning rates differ are told so where residuals hold steps") {
  CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport, {.residual_holds_step = true});
          synchronizer.begin({.learning_rate = transport.rank() == 0 ? 1.0 : 2.0});
          const std::string error = argument_error_of([&] { synchronizer.finish(); });
          failures.check(error == "the ranks disagree: scale times learning_rate is 1 on rank 0, 2 on rank 1", error);
        }) == "");
}

TEST_CASE("ranks whose steps differ get errors that name the parameters") {
  CHECK(failures_when("the ranks disagree: the parameter is none on rank 1, kernel on ranks 0, 2", [](Rank& rank) {
          rank.synchronizer.begin();
          if (!rank.is(1)) rank.give_kernel();
          rank.synchronizer.finish();
        }) == "");
  CHECK(failures_when("the ranks disagree: the parameter is bias", [](Rank& rank) {  // "bias" or "bias, kernel"
          rank.synchronizer.begin();
          if (!rank.is(0)) rank.give_bias();
          rank.give_kernel();
          if (rank.is(0)) rank.give_bias();
          rank.synchronizer.finish();
        }) == "");
  CHECK(failures_when("scale is 0.5 on ranks 0-1, 2 on rank 2", [](Rank& rank) {
          rank.synchronizer.begin({.scale = rank.is(2) ? 2 : 0.5});
          rank.give_bias();
          rank.give_kernel();
          rank.synchronizer.finish();
        }) == "");
  CHECK(failures_when("the ranks disagree: the parameter is none on ranks 0-1, weight on rank 2", [](Rank& rank) {
          rank.synchronizer.set_policy("weight", "none");
          rank.synchronizer.begin();
          if (rank.is(2)) rank.give_weight();
          const std::string error = argument_error_of([&] { rank.synchronizer.finish(); });
          rank.synchronizer.set_policy("weight", "dense");
          throw ArgumentError(error);
        }) == "");
}

TEST_CASE("a synchronizer's calls in a wrong order are errors on all ranks") {
  CHECK(failures_when("rank 1: parameter kernel: it is given twice in one step, expected once at most", [](Rank& rank) {
          rank.synchronizer.begin();
          rank.give_kernel();
          if (rank.is(1)) rank.give_kernel();
          rank.synchronizer.finish();
        }) == "");
  CHECK(failures_when("rank 0: parameter kernel: give() stands outside a step, expected after begin()", [](Rank& rank) {
          if (rank.is(0)) rank.give_kernel();
          rank.synchronizer.begin();
          if (!rank.is(0)) rank.give_kernel();
          rank.synchronizer.finish();
        }) == "");
  CHECK(failures_when("rank 1: the step was given up", [](Rank& rank) {
          rank.synchronizer.begin();
          rank.give_kernel();
          if (rank.is(1)) rank.synchronizer.fail("", "");
          rank.synchronizer.finish();
        }) == "");
  CHECK(failures_when("ranks 0-2: finish() stands outside a step, expected after begin()",
                      [](Rank& rank) { rank.synchronizer.finish(); }) == "");
  CHECK(
      failures_when("rank 2: begin() stands within a step, expected before begin() or after finish()", [](Rank& rank) {
        rank.synchronizer.begin();
        rank.give_kernel();
        if (rank.is(2)) rank.synchronizer.begin();
        rank.give_bias();
        rank.synchronizer.finish();
      }) == "");
  CHECK(failures_when("rank 1: parameter late: add() stands within a step, expected before begin() or after finish()",
                      [](Rank& rank) {
                        rank.synchronizer.begin();
                        rank.give_kernel();
                        std::string error;
                        if (rank.is(1))
                          error = argument_error_of([&] { rank.synchronizer.add("late", {1, 1}, "dsop"); });
                        const std::string second = argument_error_of([&] { rank.synchronizer.finish(); });
                        if (!rank.is(1) || error == second) throw ArgumentError(second);
                      }) == "");
}

TEST_CASE("what one rank gives outside a step is an error of all ranks' next agreement, and shifts no call") {
  const int ranks = GENERATE(1, 2, 3, 4);
  const bool overlap = GENERATE(true, false);
  const int wrong = GENERATE_COPY(range(0, ranks));
  INFO("P = " << ranks << ", wrong on rank " << wrong << ", overlap " << overlap);
  CHECK(failures_on_threads(ranks, [&](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport, {.overlap = overlap});
          synchronizer.add("kernel", {.rows = 1, .columns = 7, .max_pairs = 0}, "dense");
          synchronizer.add("bias", {.rows = 1, .columns = 7, .max_pairs = 0}, "topk:1");
          std::vector<float> kernel(7, 1), bias(7, 1);
          const std::vector<float> sums(7, static_cast<float>(ranks));
          const std::string expected = "rank " + std::to_string(wrong) +
                                       ": parameter kernel: give() stands outside a step, expected after begin()";
          const auto give = [&] {
            synchronizer.give("kernel", {kernel.data(), 1, 7});
            synchronizer.give("bias", {bias.data(), 1, 7});
          };
          const auto run = [&] {
            kernel.assign(7, 1);
            bias.assign(7, 1);
            synchronizer.begin();
            give();
            synchronizer.finish();
          };
          const auto expect = [&](const std::string& what, const auto& next) {
            if (transport.rank() == wrong) give();
            const std::string error = argument_error_of(next);
            failures.check(error.find(expected) == 0, what + " threw " + error);
            failures.check(argument_error_of(run).empty() && kernel == sums && bias == sums,
                           "the step after " + what + " is wrong");
          };
          expect("a step", run);
          expect("set_policy()", [&] { synchronizer.set_policy("kernel", "none"); });
          expect("add()", [&] { synchronizer.add("late", {1, 1}, "dense"); });
          std::stringstream state;
          synchronizer.save(state);
          expect("load()", [&] { synchronizer.load(state); });
          if (transport.rank() == wrong) give();
          allreduce<float>(transport, kernel);  // none of the synchronizer's: it goes on
          expect("a step after another call", run);
        }) == "");
}

TEST_CASE("no step begins after an interrupted one, whose calls go on") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          std::vector<float> gradient(15, 1);
          Synchronizer<float> synchronizer(transport);
          synchronizer.add("weight", {3, 5, 1}, "dense:ring");
          const auto step = [&] {
            synchronizer.begin();
            synchronizer.give("weight", {gradient.data(), 3, 5});
            synchronizer.finish();
          };
          if (transport.rank() == 1) {
            sleep_seconds(0.5);
            return step();
          }
          set_interrupt_check([] { return 1; });
          try {
            step();
            failures.check(false, "it was not interrupted");
          } catch (const Interrupted&) {
          }
          set_interrupt_check(nullptr);
          std::string error = "nothing";
          try {
            synchronizer.begin();
          } catch (const TransportError& refused) {
            error = refused.what();
          }
          failures.check(error.starts_with("begin() after an interrupted wait"), error);
        }) == "");
}
