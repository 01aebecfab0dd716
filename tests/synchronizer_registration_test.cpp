// Parameters that are registered wrongly, options and policies that differ from rank to rank or can't be.
#include <catch2/catch.hpp>

#include "synchronizer_conservation.hpp"
#include "synchronizer_misuse.hpp"

using namespace dsop;
using namespace dsop::tests;

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
  CHECK(wrong_policy("densest",
                     "policy is densest, expected dsop[:ALGORITHM], dsop-bf16[:ALGORITHM], dense[:ALGORITHM], "
                     "dense-overlapped[:ALGORITHM], sparse[:ALGORITHM], none, NAME:DENSITY with NAME one of ") == "");
  CHECK(wrong_policy("topk", "policy is topk, expected topk:DENSITY, a number above 0 and up to 1") == "");
  CHECK(wrong_policy("topk:1.5", "policy is topk:1.5, expected topk:DENSITY, a number above 0 and up to 1") == "");
  CHECK(wrong_policy("topk:1%", "policy is topk:1%, expected topk:DENSITY, a number above 0 and up to 1") == "");
  CHECK(wrong_policy("topk(rong):0.1",
                     "the algorithm that sums in topk(rong) is rong, expected auto or one of allgather,") == "");
  CHECK(wrong_policy("none:1", "policy is none:1, expected dsop") == "");
  CHECK(wrong_policy("dense:rong", "the algorithm of policy dense:rong is rong, expected auto or one of mpi, ring,") ==
        "");
  CHECK(wrong_policy("dense:mpi", "algorithm mpi can't be used: it ") == "");
  CHECK(wrong_policy("topk(dense-mpi):0.1", "algorithm dense-mpi can't be used: it ") == "");
  CHECK(wrong_policy("topk(dsar-early-switch(0.5)):0.1", "algorithm is dsar-early-switch(0.5), expected ") == "");
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

TEST_CASE("every policy that selects is described before its first step") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          for (const std::string& policy : selecting_policies())
            for (const Wire wire : {Wire::full, Wire::bf16}) {
              Synchronizer<float> synchronizer(transport, {.wire = wire});
              synchronizer.add("w", {.rows = 40, .columns = 50, .max_pairs = 0}, policy);
              const std::string text = synchronizer.describe();
              failures.check(text.find(policy) != std::string::npos, text);
            }
        }) == "");
}

TEST_CASE("a parameter whose first step was dropped is described all the same") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport);
          synchronizer.add("w", {3, 2, 0}, "dsop");
          std::vector<float> target(6);
          synchronizer.begin();
          synchronizer.give("nobody", {target.data(), 3, 2});
          synchronizer.give("w", Factors<float>{}, {target.data(), 3, 2});
          failures.check(!argument_error_of([&] { synchronizer.finish(); }).empty(), "a wrong name is no error");
          const std::string text = synchronizer.describe();
          failures.check(text.find("known after a step") != std::string::npos, text);
        }) == "");
}
