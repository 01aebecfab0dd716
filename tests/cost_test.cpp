// Every algorithm's formulas for messages and bytes, against what the counting transport sees.
#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <sstream>

#include <dsop/counting.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "collectives_cases.hpp"
#include "failures.hpp"
#include "outer_product_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

struct Counted {
  Traffic busiest;  // the largest number over all ranks of each
  Cost predicted;
};

struct Trial {
  std::string algorithm;
  Case c;
  Wire wire = Wire::full;
};

std::vector<Counted> count_all(int P, const std::vector<Trial>& trials, const std::vector<int>& nodes = {}) {
  std::vector<Counted> counted(trials.size());
  std::mutex mutex;
  const auto body = [&](Transport& threads) {
    for (std::size_t j = 0; j < trials.size(); ++j) {
      const Case& c = trials[j].c;
      CountingTransport transport(threads);
      const CaseFactors<float> own(c, transport.rank());
      std::vector<float> G(c.n * c.m);
      OuterProduct<float> layer(
          transport, {c.n, c.m, own.dense().a.rows},
          {.algorithm = trials[j].algorithm, .find_zeros = own.find_zeros(), .wire = trials[j].wire});
      layer.run(own.given(), {G.data(), c.n, c.m});
      const std::lock_guard lock(mutex);
      counted[j].busiest.raise_to(transport.payload());
      counted[j].predicted = stated_cost(layer.plan(), transport.payload());
    }
  };
  run_on_threads(P, body, 1, nodes);
  return counted;
}

void check_formulas(int P, const std::vector<Trial>& trials, const std::vector<int>& nodes = {}) {
  const std::vector<Counted> counted = count_all(P, trials, nodes);
  for (std::size_t j = 0; j < trials.size(); ++j) {
    INFO(trials[j].algorithm << ", P = " << P << ", " << trials[j].c.text());
    REQUIRE(counted[j].busiest.messages == counted[j].predicted.messages);
    REQUIRE(counted[j].busiest.bytes == counted[j].predicted.bytes);
  }
}

std::size_t bytes_sent(int P, const std::string& algorithm, const Case& c, Wire wire = Wire::full) {
  return count_all(P, {{algorithm, c, wire}}).front().busiest.bytes;
}

Case equal_pairs(int P, std::size_t n, std::size_t m, std::size_t k) {
  return {n, m, std::vector<std::size_t>(static_cast<std::size_t>(P), k), 1, false, 0};
}

}  // namespace

TEST_CASE("every formula holds for bf16 on the wire") {
  const int P = GENERATE(1, 2, 3, 4, 5, 8, 13);
  Problem problem = small_problem(P);
  problem.wire = Wire::bf16;
  const std::vector<std::string> algorithms = usable_algorithms(problem);
  const std::vector<Case> cases = all_cases(P);
  std::vector<Trial> trials;
  for (std::size_t a = 0; a < algorithms.size(); ++a)
    for (std::size_t c = 0; c < cases.size(); ++c)
      if (has_turn(algorithms[a], a, c, P)) trials.push_back({algorithms[a], cases[c], Wire::bf16});
  check_formulas(P, trials);
}

TEST_CASE("bf16 halves the bytes of the gradient") {
  constexpr std::size_t n = 240;
  constexpr std::size_t m = 48;
  for (const int P : {2, 3, 8}) {
    INFO("P = " << P);
    const Case c = equal_pairs(P, n, m, 2);
    const auto bytes = [&](const std::string& algorithm, Wire wire) { return bytes_sent(P, algorithm, c, wire); };
    const std::size_t gradient_bytes =
        n * m * sizeof(float) * static_cast<std::size_t>(P - 1) / static_cast<std::size_t>(P);
    CHECK(bytes("allreduce-ring", Wire::full) == 2 * bytes("allreduce-ring", Wire::bf16));
    CHECK(bytes("generalized-rabenseifner", Wire::full) ==
          bytes("generalized-rabenseifner", Wire::bf16) + gradient_bytes / 2);
    CHECK(bytes("allgather", Wire::full) == bytes("allgather", Wire::bf16));
  }
}

TEST_CASE("the formulas hold for ranks that share nodes") {
  const std::vector<int> nodes = GENERATE(
      std::vector<int>{0, 0}, std::vector<int>{7, 7, 7}, std::vector<int>{0, 0, 0, 1}, std::vector<int>{0, 1, 0, 1},
      std::vector<int>{5, 2, 2, 5, 2, 9, 5}, std::vector<int>{1, 1, 1, 1, 2, 2, 2, 2});
  const int P = static_cast<int>(nodes.size());
  std::vector<Trial> trials;
  for (const Case& c : all_cases(P)) trials.push_back({"hierarchical", c});
  check_formulas(P, trials, nodes);
}

TEST_CASE("replicating nothing costs what Generalized Rabenseifner costs, replicating all what allgather costs") {
  const int P = GENERATE(2, 3, 8, 48);
  const Machine hides_all{.hidden_share = 1};
  for (const std::size_t k : {1UL, 32UL})
    for (const std::size_t n : {5UL, 1000UL, 4000UL}) {
      const Problem problem{
          .rows = n, .columns = 700, .pairs = std::vector<std::size_t>(static_cast<std::size_t>(P), k)};
      const auto same = [&](const char* left, const char* right) {
        const Cost l = make_plan(problem, hides_all, left).cost();
        const Cost r = make_plan(problem, hides_all, right).cost();
        return l.messages == r.messages && l.bytes == r.bytes && l.flops == r.flops && l.seconds() == r.seconds();
      };
      INFO("P = " << P << ", n = " << n << ", k = " << k);
      CHECK(same("replicated-rabenseifner(0)", "generalized-rabenseifner"));
      CHECK(same("replicated-rabenseifner(1)", "allgather"));
      const double best = make_plan(problem, hides_all, "replicated-rabenseifner").cost().seconds();
      CHECK(best <= make_plan(problem, hides_all, "generalized-rabenseifner").cost().seconds());
      CHECK(best <= make_plan(problem, hides_all, "allgather").cost().seconds());
    }
}

TEST_CASE("the fraction that is replicated lets products and exchange end together") {
  const Problem problem{.rows = 4000, .columns = 4000, .pairs = std::vector<std::size_t>(8, 16)};
  const Machine hides_all{.hidden_share = 1};
  const auto cost = [&](double f) {
    std::ostringstream name;
    name << "replicated-rabenseifner(" << f << ')';
    return make_plan(problem, hides_all, name.str()).cost();
  };
  const Plan plan = make_plan(problem, hides_all, "replicated-rabenseifner");
  const double f = plan.parameter;
  REQUIRE(f > 0);
  REQUIRE(f < 1);
  CHECK(plan.cost().seconds() < cost(0).seconds());
  CHECK(plan.cost().seconds() < cost(1).seconds());
  // Up to there the exchange outlasts the products, and a larger fraction shortens it; from there on they outlast it.
  CHECK(cost(f - 1.0 / 16).seconds() > plan.cost().seconds());
  CHECK(cost(f + 1.0 / 16).seconds() > plan.cost().seconds());
}

TEST_CASE("the volumes are those of the papers") {
  constexpr std::size_t n = 240;
  constexpr std::size_t m = 48;
  constexpr std::size_t k = 2;
  for (const int P : {2, 3, 4, 5, 6, 8, 12, 16}) {
    INFO("P = " << P);
    const auto ranks = static_cast<std::size_t>(P);
    const auto words = [&](const std::string& algorithm) {
      return bytes_sent(P, algorithm, equal_pairs(P, n, m, k)) / sizeof(float);
    };
    CHECK(words("allgather") == (ranks - 1) * k * (n + m));
    CHECK(words("allreduce-ring") * ranks == 2 * (ranks - 1) * n * m);
    CHECK(words("generalized-rabenseifner") * ranks == ranks * (ranks - 1) * k * (n + m) + (ranks - 1) * n * m);
    CHECK(words("generalized-rabenseifner-scattered(" + std::to_string(P) + ")") * ranks ==
          k * (ranks - 1) * (n + ranks * m) + (ranks - 1) * n * m);
    CHECK(words("generalized-rabenseifner-pipelined(3)") == words("generalized-rabenseifner"));
    CHECK(words("generalized-rabenseifner-strided-subgroup(1)") == words("generalized-rabenseifner"));
    CHECK(words("generalized-rabenseifner-strided-subgroup(" + std::to_string(P) + ")") == words("allgather"));
    const bool power_of_two = (ranks & (ranks - 1)) == 0;
    if (power_of_two)
      CHECK(words("rabenseifner-gather") == words("generalized-rabenseifner-scattered(" + std::to_string(P) + ")"));
    if (power_of_two) CHECK(words("allreduce-rabenseifner") == words("allreduce-ring"));
  }
}

TEST_CASE("the flops are those of the products and sums that an algorithm makes") {
  constexpr std::size_t n = 480;  // in two segments of rows still a multiple of all P
  constexpr std::size_t m = 48;
  constexpr std::size_t k = 2;
  for (const int P : {2, 3, 4, 5, 6, 8, 12, 16}) {
    Problem problem{.rows = n, .columns = m, .pairs = std::vector<std::size_t>(static_cast<std::size_t>(P), k)};
    problem.group.nodes.assign(static_cast<std::size_t>(P), 0);
    const double product = 2.0 * n * m * k;  // of one rank's pairs, or of all pairs and one rank's rows
    const double add = n * m;                // a gradient to another
    const double add_blocks = add * (P - 1) / P;
    const auto ranks = static_cast<unsigned>(P);
    const double corners = std::bit_floor(ranks);
    const double doublings = std::bit_width(ranks - 1);
    const std::string all = "(" + std::to_string(P) + ")";
    const std::map<std::string, double> expected{
        {"allgather", P * product},
        {"allgather-bruck", P * product},
        {"allgather-overlapped(2)", P * product},
        {"bruck-overlapped(2)", P * product},
        {"hierarchical", P * product},
        {"generalized-rabenseifner", product},
        {"generalized-rabenseifner-scattered" + all, product},
        {"generalized-rabenseifner-pipelined(2)", product},
        {"generalized-rabenseifner-pipelined-rows(2)", product},
        {"generalized-rabenseifner-subgroup" + all, product},
        {"generalized-rabenseifner-subgroup(1)", P * product},
        {"generalized-rabenseifner-strided-subgroup" + all, P * product},
        {"generalized-rabenseifner-strided-subgroup(1)", product},
        {"rabenseifner-gather", product},
        {"replicated-rabenseifner(0)", product},
        {"replicated-rabenseifner(0.5)", (1 + P) * product / 2},
        {"pairwise-reduce-scatter", product + add_blocks},
        {"allreduce-ring", product + add_blocks},
        {"allreduce-ring-pipelined(2)", product + add_blocks},
        {"allreduce-butterfly", product + doublings * add},
        {"allreduce-butterfly-pipelined(2)", product + doublings * add},
        {"allreduce-rabenseifner", product + add * (corners - 1) / corners + (corners < P ? add : 0)},
        {"allreduce-linear-pipeline", product + add},
        {"allreduce-minimum-spanning-tree", product + doublings * add},
    };
    for (const auto& [algorithm, flops] : expected) {
      INFO("P = " << P << ", " << algorithm);
      CHECK(make_plan(problem, Machine{}, algorithm).cost().flops == Approx(flops));
    }
  }
}

TEST_CASE("MPI_Allreduce is predicted to run what Open MPI 4.1 takes for so many ranks and bytes") {
  struct Expected {
    int ranks;
    std::size_t elements;  // of f32
    std::string algorithm;
  };
  const Expected table[] = {
      {2, 1, "butterfly"},  // the ring needs an element a rank
      {3, 1023, "butterfly"},
      {3, 1024, "ring"},
      {2, 2047, "ring"},
      {2, 2048, "butterfly"},
      {3, 4096, "ring"},
      {3, 65535, "ring"},
      {3, 65536, "rabenseifner"},
      {7, 3, "butterfly"},
      {15, 2047, "butterfly"},
      {8, 2048, "rabenseifner"},
      {17, 15, "butterfly"},  // too few for the ring
      {31, 1023, "butterfly"},
      {16, 1024, "rabenseifner"},
      {48, 31, "butterfly"},
      {48, 32, "rabenseifner"},
      {48, 64000000, "rabenseifner"},
      {64, 65535, "butterfly"},
      {127, 65536, "rabenseifner"},
      {128, 32767, "minimum-spanning-tree"},
      {128, 32768, "butterfly"},
      {128, 65536, "rabenseifner"},
      {256, 1023, "minimum-spanning-tree"},
      {511, 1024, "rabenseifner"},
      {2047, 511, "minimum-spanning-tree"},
      {2047, 512, "butterfly"},
      {2047, 4096, "rabenseifner"},
      {2048, 1023, "butterfly"},
      {4095, 1024, "butterfly"},
      {4095, 4096, "rabenseifner"},
      {4096, 4095, "butterfly"},
      {4096, 4096, "butterfly"},
      {4096, 8192, "rabenseifner"},
  };
  const Machine machine;
  for (const Expected& expected : table) {
    INFO(expected.ranks << " ranks, " << expected.elements << " elements");
    const DenseProblem problem{
        .elements = expected.elements, .ranks = expected.ranks, .type = DataType::f32, .group = {.native = true}};
    const Cost mpi = dense_algorithms().find("mpi")->cost(problem, machine, 0);
    const Cost own = dense_algorithms().find(expected.algorithm)->cost(problem, machine, 0);
    CHECK(mpi.messages == own.messages);
    CHECK(mpi.bytes == own.bytes);
    CHECK(mpi.seconds() == own.seconds());
  }
  const DenseProblem too_few{.elements = 16,
                             .ranks = 48,
                             .type = DataType::f64,
                             .group = {.native = true}};  // for Rabenseifner's: all to rank 0 and back
  CHECK(dense_algorithms().find("mpi")->cost(too_few, machine, 0).messages == 47);
}

TEST_CASE("by no formula does a single rank send anything") {
  const auto check = [](const std::string& name, const Cost& cost) {
    INFO(name);
    CHECK(cost.messages == 0);
    CHECK(cost.bytes == 0);
    CHECK(cost.communication_seconds == 0);
  };
  const auto cost_of = [](const auto& algorithm, const auto& problem, const Machine& machine, double value) {
    if constexpr (requires { algorithm.exchanges; })
      return algorithm.cost(algorithm, problem, machine, value,
                            algorithm.exchanges(algorithm, problem, machine, value));
    else
      return algorithm.cost(algorithm, problem, machine, value);
  };
  const auto check_all = [&](const auto& algorithms, const auto& problem) {
    for (const auto& algorithm : algorithms) {
      if (!why_unsupported(algorithm, problem).empty()) continue;
      for (const double value : algorithm.parameter.values(algorithm, problem))
        check(algorithm_text(algorithm, value), cost_of(algorithm, problem, Machine{.hidden_share = 1}, value));
    }
  };
  check_all(outer_product_algorithms(), Problem{.rows = 40, .columns = 30, .pairs = {3}, .group = {.nodes = {0}}});
  check_all(sharded_algorithms(), Problem{.rows = 40, .columns = 30, .pairs = {3}, .sharded = true});
  const SparseProblem sparse{.elements = 1000, .nonzeros = {100}};
  for (const SparseAlgorithm& algorithm : sparse_algorithms()) {
    if (!why_unsupported(algorithm, sparse).empty()) continue;
    for (const double value : algorithm.parameter.values(algorithm, sparse)) {
      const std::string name = algorithm_text(algorithm, value);
      check(name, make_sparse_plan(sparse, Machine{.hidden_share = 1}, name).cost());
    }
  }
  for (const Family& family : families())
    for (const DenseProblem& problem : {DenseProblem{.elements = 1000}, DenseProblem{.elements = 100000}})
      for (const DenseAlgorithm& algorithm : family.algorithms)
        for (const double value : algorithm.parameter.values(problem))
          check(std::string(family.name) + ' ' + algorithm_text(algorithm, value),
                algorithm.cost(problem, Machine{.hidden_share = 1}, value));
  for (const TopKAlgorithm& algorithm : topk_algorithms())
    check(algorithm.name, topk_cost({.elements = 1000, .k = 10, .ranks = 1}, Machine{}, algorithm.name));
  for (const AllgatherAlgorithm& algorithm : allgather_algorithms()) {
    INFO(algorithm.name);
    const AllgatherProblem problem{{0, 1000}};
    CHECK(algorithm.sent(problem, 0).messages == 0);
    CHECK(algorithm.sent(problem, 0).bytes == 0);
    CHECK(algorithm.seconds(problem, Machine{}) == 0);
  }
}

TEST_CASE("the exchange of headers is counted apart from the payload") {
  CHECK(failures_on_threads(5, [](Transport& threads, Failures& failures) {
          CountingTransport transport(threads);
          std::vector<float> G(6);
          const bench::InputFactors<float> own(1, transport.rank(), 1, 2, 3);
          dsop::dsop<float>(transport, own.view(), {G.data(), 2, 3}, {.algorithm = "allreduce-ring"});
          failures.check(transport.agreement().messages >= 3, "no headers were exchanged");
          failures.check(transport.payload().messages == 8, "headers are counted as payload");
        }) == "");
}
