// Layers that try the near candidates in their first calls.
#include <catch2/catch.hpp>

#include <array>
#include <set>
#include <sstream>

#include <dsop/dsop.hpp>
#include <dsop/synchronizer.hpp>

#include "algorithms/outer_product/tries.hpp"
#include "failures.hpp"
#include "levels_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("near candidates take the first calls by turns, one stays, and every sum is exact") {
  const int P = GENERATE(1, 2, 3, 4, 5, 8, 9);
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          constexpr std::size_t n = 300;
          const std::vector<float> ones(32 * n, 1);
          std::vector<float> G(n * n);
          OuterProduct<float> layer(transport, {.rows = n, .columns = n, .max_pairs = 32}, {.tries = 2});
          std::multiset<std::string> made;
          while (made.size() < 100) {
            layer.run({{ones.data(), 32, n}, {ones.data(), 32, n}}, {G.data(), n, n});
            for (const float g : G) failures.check(g == 32.0F * static_cast<float>(P), "a sum is wrong");
            if (layer.plan().reason.find("measured") != std::string::npos) break;
            made.insert(layer.plan().algorithm_text());
          }
          failures.check(made.size() < 100 || P == 1, "the tries do not end");
          if (made.size() == 100) return;
          for (const std::string& name : made) failures.check(made.count(name) == 2, name + " is not tried twice");
          const std::string kept = layer.plan().algorithm_text();
          failures.check(made.count(kept) == 2, kept + " stays, and was not tried");
        }) == "");
}

TEST_CASE("what would ride in the agreement is not tried, since nothing rides while tries last") {
  const Machine machine = machine_of_hosts();
  CHECK(failures_on_nodes({0, 0, 0, 0, 4, 4, 4, 4}, [&](Transport& transport, Failures& failures) {
          constexpr std::size_t n = 1000;
          const std::vector<float> ones(n, 1);
          std::vector<float> G(n * n);
          OuterProduct<float> layer(transport, {.rows = n, .columns = n, .max_pairs = 1},
                                    {.machine = machine, .tries = 1});
          const auto run = [&] { layer.run({{ones.data(), 1, n}, {ones.data(), 1, n}}, {G.data(), n, n}); };
          int turns = 0;
          for (run(); layer.plan().reason.find("measured") == std::string::npos && turns < 100; run(), ++turns)
            failures.check(layer.plan().algorithm_name() != "allgather", "allgather is tried");
          failures.check(turns > 1 && turns < 100, std::to_string(turns) + " turns");
          failures.check(!layer.plan().chosen().piggybacks, "what rides was taken");
        }) == "");
}

TEST_CASE("of tries the algorithm stays whose best turn took the slowest rank least") {
  outer_product::Tries tries({"a", "b", "c"}, 2);
  const auto take = [&](double first_rank, double second_rank) {
    std::array<Record, 2> records{};
    records[0].take_last_call(first_rank);
    records[1].take_last_call(second_rank);
    tries.take_times(records);
  };
  take(1e-9, 1e-9);  // of the call before, which was no try
  for (const std::array<double, 2>& seconds :
       {std::array{5e-3, 1e-3}, {2e-3, 8e-3}, {4e-3, 4e-3}, {1e-3, 6e-3}, {3e-3, 3e-3}, {9e-3, 1e-3}}) {
    CHECK(tries.left() > 0);
    tries.next();
    take(seconds[0], seconds[1]);
  }
  CHECK(tries.left() == 0);
  CHECK(tries.fastest() == "b");
}

namespace {

constexpr std::size_t tried_rows = 300;
constexpr std::size_t tried_pairs = 32;

// A step of two parameters, of which one names its algorithm.
void step(Synchronizer<float>& synchronizer, const std::vector<float>& ones, std::vector<float>& G) {
  synchronizer.begin();
  synchronizer.give("w", Factors<float>{{ones.data(), tried_pairs, tried_rows}, {ones.data(), tried_pairs, tried_rows}},
                    {G.data(), tried_rows, tried_rows});
  synchronizer.finish();
}

Synchronizer<float> made_with_tries(Transport& transport) {
  Synchronizer<float> synchronizer(transport, {.tries = 2});
  synchronizer.add("w", {.rows = tried_rows, .columns = tried_rows, .max_pairs = tried_pairs}, "dsop");
  synchronizer.add("v", {.rows = tried_rows, .columns = tried_rows, .max_pairs = tried_pairs},
                   "dsop:allgather");  // tries nothing
  return synchronizer;
}

}  // namespace

TEST_CASE("a synchronizer's save() settles what is still tried, and load() goes on with it") {
  CHECK(failures_on_threads(4, [&](Transport& transport, Failures& failures) {
          const std::vector<float> ones(tried_pairs * tried_rows, 1);
          std::vector<float> G(tried_rows * tried_rows);
          auto synchronizer = made_with_tries(transport);
          for (int i = 0; i < 3; ++i) step(synchronizer, ones, G);
          std::stringstream saved;
          synchronizer.save(saved);
          auto resumed = made_with_tries(transport);
          resumed.load(saved);
          std::set<std::string> made;
          for (int i = 0; i < 3; ++i)
            for (Synchronizer<float>* const each : {&synchronizer, &resumed}) {
              step(*each, ones, G);
              made.insert(each->last_step("w").algorithm);
            }
          failures.check(made.size() == 1, "the algorithm changes after save()");
          for (const float g : G) failures.check(g == 4.0F * tried_pairs, "a sum is wrong");
        }) == "");
}

TEST_CASE("tries that make no sense, or that one rank alone has settled, are an error on all ranks") {
  CHECK(failures_on_threads(3, [&](Transport& transport, Failures& failures) {
          const auto expect = [&](const std::string& words, const std::function<void()>& call) {
            const std::string error = argument_error_of(call);
            failures.check(error.find(words) != std::string::npos, '"' + error + "\", expected " + words);
          };
          const Shape shape{.rows = tried_rows, .columns = tried_rows, .max_pairs = tried_pairs};
          const std::vector<float> ones(tried_pairs * tried_rows, 1);
          std::vector<float> G(tried_rows * tried_rows);
          const Factors<float> factors{{ones.data(), tried_pairs, tried_rows}, {ones.data(), tried_pairs, tried_rows}};
          expect("tries is -1, expected 0", [&] { OuterProduct<float>(transport, shape, {.tries = -1}); });
          expect("tries is 2, expected 0 where an algorithm is named",
                 [&] { OuterProduct<float>(transport, shape, {.algorithm = "allgather", .tries = 2}); });
          expect("tries is 2, expected 0, since only", [&] {
            dsop::dsop<float>(transport, factors, {G.data(), tried_rows, tried_rows}, {.tries = 2});
          });
          expect("tries", [&] { OuterProduct<float>(transport, shape, {.tries = transport.rank()}); });
          expect("tries is -3", [&] { Synchronizer<float>(transport, {.tries = -3}); });

          auto synchronizer = made_with_tries(transport);
          step(synchronizer, ones, G);
          std::ostringstream saved;
          if (transport.rank() == 1) synchronizer.save(saved);
          expect("the state of its tries", [&] { step(synchronizer, ones, G); });
        }) == "");
}
