// What formulas say of the levels of a machine, against what is counted there: sparse vectors and selections.
#include <catch2/catch.hpp>

#include <dsop/synchronizer.hpp>

#include "failures.hpp"
#include "levels_cases.hpp"
#include "sparse_allreduce_cases.hpp"
#include "topk_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

constexpr std::size_t k = 48;
constexpr std::size_t N = 64 * k;

// Groups of three leave some of eight ranks over.
bool is_even_for(const std::string& algorithm) {
  return is_symmetric(algorithm) && algorithm.find("(3)") == algorithm.npos && algorithm != "gtopk";
}

}  // namespace

TEST_CASE("every sparse allreduce sends out of its busiest node what its formula says", "[sparse]") {
  const Machine machine = machine_of_cards();
  const SparseCase c{N, k, Spread::same};
  for (const std::vector<int>& nodes : placements()) {
    const int P = static_cast<int>(nodes.size());
    const SparseProblem problem{.elements = N,
                                .nonzeros = std::vector<std::size_t>(nodes.size(), k),
                                .group = {.nodes = nodes},
                                .overlap = Overlap::full};
    for (const std::string& name : sparse_names(P)) {
      INFO(name << ", " << P << " ranks, the last on " << nodes.back());
      const CountedBytes counted = count_bytes(nodes, [&](Transport& transport) {
        const SparseInput<float> own(c, transport.rank(), P);
        SparseAllreduceOptions options{.algorithm = name, .machine = machine};
        static_cast<void>(sparse_allreduce<float>(transport, own.view(), options));
      });
      const double predicted = make_sparse_plan(problem, machine, name).cost().communication_seconds;
      check_cards(predicted, counted, nodes, is_even_for(name));
    }
  }
}

// In the second of two calls, which reuses what the first has found.
TEST_CASE("every selecting allreduce sends out of its busiest node what its formula says", "[topk]") {
  const Machine machine = machine_of_cards();
  for (const std::vector<int>& nodes : placements())
    for (const TopKAlgorithm& algorithm : topk_algorithms()) {
      if (algorithm.exact_sum == "auto") continue;  // as the sparse algorithm that it takes
      const auto count_calls = [&](int calls) {
        return count_bytes(nodes, [&](Transport& transport) {
          TopKAllreduce<float> allreduce(transport, N, {.algorithm = algorithm.name, .machine = machine});
          for (int i = 0; i < calls; ++i) {
            std::vector<float> values(N);
            for (std::size_t j = 0; j < k; ++j) values[64 * j + 31] = 5;
            static_cast<void>(allreduce.run(values, k));
          }
        });
      };
      const TopKProblem problem{
          .elements = N, .k = k, .ranks = static_cast<int>(nodes.size()), .group = {.nodes = nodes}};
      INFO(algorithm.name << ", " << nodes.size() << " ranks, the last on " << nodes.back());
      CountedBytes second = count_calls(2);
      second.out_of_busiest_node -= count_calls(1).out_of_busiest_node;
      check_cards(topk_cost(problem, machine, algorithm.name).communication_seconds, second, nodes,
                  is_even_for(algorithm.name));
    }
}

TEST_CASE("every policy takes levels by the nodes that ranks share") {
  Machine machine;
  machine.inner_levels = {Level{}, Level{.nodes = 3}};
  CHECK(failures_on_nodes({0, 0, 2, 3}, [&](Transport& transport, Failures& failures) {  // three nodes in one rack
          Synchronizer<float> synchronizer(transport, {.machine = machine});
          for (const std::string policy : {"dsop", "dense", "sparse", "topk:0.1", "none"}) {
            const std::string error = argument_error_of([&] { synchronizer.add(policy, {8, 8, 1}, policy); });
            failures.check(error.empty(), error);
          }
        }) == "");
}
