// Layers that try the near candidates in their first calls.
#include <catch2/catch.hpp>

#include <set>

#include <dsop/dsop.hpp>

#include "failures.hpp"

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
