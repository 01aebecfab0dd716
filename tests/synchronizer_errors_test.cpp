// Wrong uses of a synchronizer: every rank gets the same error, which names the parameter and the values, nobody hangs,
// and the next step is right.
#include <catch2/catch.hpp>

#include <functional>
#include <sstream>

#include <dsop/collectives.hpp>

#include "synchronizer_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

constexpr int P = 3;

struct Rank {
  Transport& transport;
  Synchronizer<float>& synchronizer;
  std::vector<float> G;       // 6 x 4
  std::vector<float> a;       // a pair's 6
  std::vector<float> b;       // and 4
  std::vector<float> bias;    // 4
  std::vector<float> kernel;  // 200

  bool is(int r) const { return transport.rank() == r; }
  void give_weight() { synchronizer.give("weight", {{a.data(), 1, 6}, {b.data(), 1, 4}}, {G.data(), 6, 4}); }
  void give_bias() { synchronizer.give("bias", {bias.data(), 1, 4}); }
  void give_kernel() { synchronizer.give("kernel", {kernel.data(), 2, 100}); }
};

void run_good_step(Rank& rank) {
  std::fill(rank.a.begin(), rank.a.end(), 1.0F);
  std::fill(rank.b.begin(), rank.b.end(), static_cast<float>(rank.transport.rank()));
  std::fill(rank.bias.begin(), rank.bias.end(), 1.0F);
  std::fill(rank.kernel.begin(), rank.kernel.end(), 2.0F);
  rank.synchronizer.begin();
  rank.give_kernel();
  rank.give_bias();
  rank.give_weight();
  rank.synchronizer.finish();
}

// What is wrong on any rank after `misuse`, which must throw an ArgumentError that contains `expected`.
std::string failures_when(const std::string& expected, const std::function<void(Rank&)>& misuse) {
  std::vector<std::string> errors(P);
  std::string failures;
  for (const bool overlap : {true, false})
    for (const char* const policy : {"dsop", "dense", "dense-overlapped", "sparse", "topk:1"}) {
      failures += failures_on_threads(P, [&](Transport& transport, Failures& failed) {
        Synchronizer<float> synchronizer(transport, {.bucket_bytes = 100, .overlap = overlap});
        synchronizer.add("weight", {.rows = 6, .columns = 4, .max_pairs = 1}, policy);
        synchronizer.add("bias", {.rows = 1, .columns = 4, .max_pairs = 0}, policy);
        synchronizer.add("kernel", {.rows = 2, .columns = 100, .max_pairs = 0}, policy);
        Rank rank{transport,
                  synchronizer,
                  std::vector<float>(24),
                  std::vector<float>(6),
                  std::vector<float>(4),
                  std::vector<float>(4),
                  std::vector<float>(200)};
        const auto own = static_cast<std::size_t>(transport.rank());
        errors[own] = argument_error_of([&] { misuse(rank); });
        failed.check(errors[own].find(expected) != std::string::npos, "threw \"" + errors[own] + '"');
        run_good_step(rank);
        failed.check(rank.G == std::vector<float>(24, 3) && rank.bias == std::vector<float>(4, 3) &&
                         rank.kernel == std::vector<float>(200, 6),
                     std::string("the next step is wrong under ") + policy);
      });
      if (errors != std::vector<std::string>(P, errors[0])) failures += "the ranks threw different errors\n";
    }
  return failures;
}

}  // namespace

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

TEST_CASE("ranks that register differently, or wrongly, get errors") {
  const auto registering = [](const std::string& expected, auto name, auto shape, auto policy) {
    return failures_when(expected, [=](Rank& rank) {
      const int r = rank.transport.rank();
      rank.synchronizer.add(name(r), shape(r), policy(r));
    });
  };
  const auto named = [](int) { return "late"; };
  const auto square = [](int) { return Shape{3, 3, 0}; };
  const auto dense = [](int) { return "dense"; };
  CHECK(registering(
            "the ranks disagree: the parameter is late on ranks 0-1, later on rank 2",
            [](int r) { return r == 2 ? "later" : "late"; }, square, dense) == "");
  CHECK(registering(
            "rows is 3 on ranks 0-1, 4 on rank 2", named,
            [](int r) {
              return Shape{r == 2 ? 4U : 3U, 3, 0};
            },
            dense) == "");
  CHECK(registering("policy is dense on ranks 1-2, topk:0.1 on rank 0", named, square,
                    [](int r) { return r == 0 ? "topk:0.1" : "dense"; }) == "");
  CHECK(registering(
            "rank 1: parameter bias: name is bias, expected one that add() has not registered before",
            [](int r) { return r == 1 ? "bias" : "late"; }, square, dense) == "");
  const auto wrong_policy = [&](const char* policy, const std::string& expected) {
    return registering("ranks 0-2: parameter late: " + expected, named, square, [=](int) { return policy; });
  };
  CHECK(wrong_policy(
            "densest",
            "policy is densest, expected dsop, dense, dense-overlapped or sparse, perhaps with :ALGORITHM; none; or, "
            "with :DENSITY, one of ") == "");
  CHECK(wrong_policy("topk", "policy is topk, expected topk:DENSITY, a number above 0 and up to 1") == "");
  CHECK(wrong_policy("topk:1.5", "policy is topk:1.5, expected topk:DENSITY, a number above 0 and up to 1") == "");
  CHECK(wrong_policy("topk:1%", "policy is topk:1%, expected topk:DENSITY, a number above 0 and up to 1") == "");
  CHECK(wrong_policy("none:1", "policy is none:1, expected dsop") == "");
  CHECK(wrong_policy("dense:rong", "the algorithm of policy dense:rong is rong, expected auto or one of mpi, ring,") ==
        "");
  CHECK(wrong_policy("dense:mpi", "algorithm mpi can't be used: it ") == "");
  const auto huge = [](int) { return Shape{1 << 20, 1 << 13, 0}; };
  for (const std::string policy : {"sparse", "topk:0.1"})
    CHECK(registering("ranks 0-2: parameter late: the number of elements under policy " + policy +
                          " is 8589934592, expected at most 4294967296",
                      named, huge, [=](int) { return policy; }) == "");
  CHECK(failures_when("the number of elements under policy sparse is 8589934592", [&](Rank& rank) {
          rank.synchronizer.add("late", huge(0), "none");
          rank.synchronizer.set_policy("late", "sparse");
        }) == "");
}

TEST_CASE("ranks that make different synchronizers, or change policies differently, get errors") {
  CHECK(failures_when("bucket_bytes is 100 on ranks 0-1, 200 on rank 2", [](Rank& rank) {
          const Synchronizer<float> other(rank.transport, {.bucket_bytes = rank.is(2) ? 200U : 100U});
        }) == "");
  CHECK(failures_when("residual_holds_step is false on ranks 0, 2, true on rank 1", [](Rank& rank) {
          const Synchronizer<float> other(rank.transport, {.residual_holds_step = rank.is(1)});
        }) == "");
  CHECK(failures_when("policy is dense on rank 0, none on ranks 1-2",
                      [](Rank& rank) { rank.synchronizer.set_policy("bias", rank.is(0) ? "dense" : "none"); }) == "");
  CHECK(failures_when("ranks 0-2: parameter bios: name is bios, expected one of weight, bias, kernel",
                      [](Rank& rank) { rank.synchronizer.set_policy("bios", "dense"); }) == "");
}
