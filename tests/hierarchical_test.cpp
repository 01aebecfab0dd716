// Ranks that share nodes, and work done instead of waiting.
#include <catch2/catch.hpp>

#include <sstream>

#include "failures.hpp"
#include "outer_product_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("the hierarchical algorithm is exact and gives the same bits on all ranks, however ranks lie on nodes") {
  const std::vector<int> nodes =
      GENERATE(std::vector<int>{0, 0}, std::vector<int>{7, 7, 7}, std::vector<int>{0, 0, 0, 1},
               std::vector<int>{0, 1, 0, 1}, std::vector<int>{5, 2, 2, 5, 2, 9, 5},
               std::vector<int>{1, 1, 1, 1, 2, 2, 2, 2}, std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 3});
  CHECK(failures_on_nodes(nodes, [](Transport& transport, Failures& failures) {
          const auto report = [&](const std::string& text) { failures.check(text.empty(), text); };
          for (const Case& c : all_cases(transport.size())) {
            report(wrong_elements<float>(transport, "hierarchical", c));
            report(wrong_elements<double>(transport, "hierarchical", c));
          }
          report(different_bits<float>(transport, "hierarchical", 67, 45, 60));
          report(different_bits<double>(transport, "hierarchical", 45, 67, 7));
        }) == "");
}

TEST_CASE("a plan names the nodes, and without shared ones there is no hierarchy") {
  CHECK(failures_on_nodes({4, 8, 4, 8, 8}, [](Transport& transport, Failures& failures) {
          failures.check(transport.node() == (transport.rank() % 2 == 0 && transport.rank() < 4 ? 0 : 1), "wrong node");
          std::vector<float> G(6);
          OuterProduct<float> layer(transport, {3, 2, 1}, {.algorithm = "hierarchical"});
          failures.check(layer.plan().leaders == std::vector<int>{0, 1}, "wrong leaders");
          std::ostringstream text;
          text << layer.plan();
          failures.check(text.str().find("5 ranks of 2 nodes (led by 0 1)") != std::string::npos, text.str());
          failures.check(text.str().find(", one level: messages inside a node cost") != std::string::npos, text.str());
        }) == "");
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          const std::string error = argument_error_of([&] {
            OuterProduct<float> layer(transport, {3, 2, 1}, {.algorithm = "hierarchical"});
          });
          failures.check(error == "ranks 0-1: algorithm hierarchical can't be used: it needs ranks that share a node",
                         error);
        }) == "");
  CHECK_THROWS_WITH(run_on_threads(2, [](Transport&) {}, 1, {0}),
                    "nodes has 1 numbers, expected one for each of 2 ranks");
}

TEST_CASE("replicated rows that are made in several pieces are exact, and the same bits") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          for (const char* const algorithm : {"replicated-rabenseifner(0.25)", "replicated-rabenseifner(0.75)"}) {
            const std::string wrong = wrong_elements<float>(transport, algorithm, {4000, 300, {2, 1, 2}, 2, false, 0});
            failures.check(wrong.empty(), wrong);
            const std::string differs = different_bits<float>(transport, algorithm, 1500, 1000, 70);
            failures.check(differs.empty(), differs);
          }
        }) == "");
}

TEST_CASE("a request can be tested without waiting for it") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          int number = transport.rank();
          Request request;
          failures.check(transport.test(request), "no request is not done");
          const std::span<int> data(&number, 1);
          if (transport.rank() == 0) {
            request = transport.irecv(data, 1);
            failures.check(!transport.test(request), "done before anything was sent");
            transport.send(std::span<int>(), 1);  // from here on rank 1 sends
            while (!transport.test(request)) {
            }
            failures.check(number == 1, "done before the number came");
            transport.wait(request);
          } else {
            transport.recv(std::span<int>(), 0);
            transport.send(data, 0);
          }
        }) == "");
}
