#include <catch2/catch.hpp>

#include <algorithm>
#include <iomanip>
#include <sstream>

#include <dsop/errors.hpp>
#include <dsop/plan.hpp>
#include <dsop/sparse_allreduce.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "failures.hpp"
#include "levels_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

Problem problem(std::size_t n, std::size_t m, int P, std::size_t k) {
  return {.rows = n, .columns = m, .pairs = std::vector<std::size_t>(static_cast<std::size_t>(P), k)};
}

bool is_published(const std::string& algorithm) {
  return outer_product_algorithms().find(algorithm.substr(0, algorithm.find('(')))->published;
}

}  // namespace

TEST_CASE("auto takes the least predicted time, and the plan says why") {
  const Plan few_pairs = make_plan(problem(4000, 4000, 8, 1), Machine{});
  CHECK(few_pairs.algorithm_name() == "allgather");
  for (std::size_t i = 1; i < few_pairs.candidates.size(); ++i)
    if (few_pairs.candidates[i].unsupported.empty() && !is_published(few_pairs.candidates[i].algorithm))
      CHECK(few_pairs.candidates[i - 1].cost.seconds() <= 1.5 * few_pairs.candidates[i].cost.seconds());

  const Plan many_pairs = make_plan(problem(1000, 1000, 8, 2000), Machine{});
  CHECK(many_pairs.algorithm_name() != "allgather");
  CHECK(many_pairs.algorithm_name().starts_with("allreduce"));

  std::ostringstream text;
  text << few_pairs;
  CHECK(text.str().find("uses allgather: least predicted time, ") != std::string::npos);
  CHECK(text.str().find("not possible: runs inside the MPI library") != std::string::npos);
}

TEST_CASE("a pipelined algorithm's travel and arithmetic overlap where messages leave the processor free") {
  std::size_t rows = 2048;
  const auto cost = [&](const Machine& machine, const std::string& algorithm) {
    return make_plan(problem(rows, 2048, 8, 1000), machine, algorithm).cost();
  };
  const auto saved = [&](const Machine& machine, const std::string& plain, const std::string& pipelined) {
    return (cost(machine, plain).seconds() - cost(machine, pipelined).seconds()) /
           cost(machine, plain).arithmetic_seconds;
  };
  Machine slow_links{.gap_per_byte_seconds = 40e-9, .hidden_share = 1};
  CHECK(saved(slow_links, "allreduce-ring", "allreduce-ring-pipelined(16)") == Approx(15.0 / 16).margin(0.05));
  CHECK(saved(slow_links, "allreduce-butterfly", "allreduce-butterfly-pipelined(16)") ==
        Approx(15.0 / 16).margin(0.05));
  CHECK(saved(slow_links, "allgather", "allgather-overlapped(16)") > 0.5);
  CHECK(saved(slow_links, "generalized-rabenseifner", "generalized-rabenseifner-pipelined(16)") ==
        Approx(15.0 / 16).margin(0.05));
  CHECK(saved(slow_links, "generalized-rabenseifner", "generalized-rabenseifner-pipelined-rows(16)") < 14.0 / 16);
  rows = 1 << 17;  // so that packing B in each segment is little beside the product
  CHECK(saved(slow_links, "generalized-rabenseifner", "generalized-rabenseifner-pipelined-rows(16)") ==
        Approx(15.0 / 16).margin(0.05));
  slow_links.hidden_share = 0.5;
  CHECK(saved(slow_links, "generalized-rabenseifner", "generalized-rabenseifner-pipelined-rows(16)") ==
        Approx(7.5 / 16).margin(0.05));
  slow_links.hidden_share = 0;
  CHECK(saved(slow_links, "generalized-rabenseifner", "generalized-rabenseifner-pipelined-rows(16)") <= 0);

  rows = 2048;
  Machine one_host = default_threads_machine();
  one_host.hidden_share = 1;
  CHECK(saved(one_host, "allreduce-ring", "allreduce-ring-pipelined(16)") <= 0);
  CHECK(saved(one_host, "allreduce-butterfly", "allreduce-butterfly-pipelined(16)") <= 0);
  CHECK(saved(one_host, "generalized-rabenseifner", "generalized-rabenseifner-pipelined-rows(16)") <= 0);
  CHECK(saved(one_host, "allgather", "allgather-overlapped(16)") <= 0);
}

TEST_CASE("what works while it waits is taken where it is predicted to be well ahead, not before") {
  Problem gradient = problem(2000, 1000, 8, 48);
  gradient.type = DataType::f64;
  Machine machine{.latency_seconds = 1e-9,
                  .overhead_seconds = 1e-9,
                  .gap_seconds = 1e-9,
                  .gap_per_byte_seconds = 0.85e-9,
                  .memory_bytes_per_second = 12e9,
                  .hidden_share = 1,
                  .measured_on = {.ranks = 48}};
  CHECK(make_plan(gradient, machine).cost().hidden_seconds > 0);
  machine.hidden_share = 0.75;
  const Plan plan = make_plan(gradient, machine);
  CHECK(plan.cost().hidden_seconds == 0);
  CHECK(plan.reason.starts_with("least predicted time but for generalized-rabenseifner-pipelined-rows("));
  for (const Candidate& candidate : plan.candidates) {
    if (!candidate.unsupported.empty()) continue;
    const double doubted = candidate.algorithm.starts_with("allgather-overlapped") ? 0
                           : candidate.algorithm.starts_with("bruck-overlapped")   ? 1
                                                                                   : 0.3;
    CHECK(candidate.needed_lead == Approx(1 + doubted * candidate.cost.hidden_seconds / candidate.cost.seconds()));
  }
  machine.measured_on = {};  // described: what hides is as told
  CHECK(make_plan(gradient, machine).cost().hidden_seconds > 0);
  machine.measured_on = {.ranks = 48, .hidden_share_spread = 0.9};
  for (const Candidate& candidate : make_plan(gradient, machine).candidates)
    if (candidate.unsupported.empty() && candidate.cost.hidden_seconds > 0 &&
        candidate.algorithm.find("-overlapped") == std::string::npos)
      CHECK(candidate.needed_lead == Approx(1 + 0.6 * candidate.cost.hidden_seconds / candidate.cost.seconds()));
}

TEST_CASE("auto takes no form that is only published, though it is predicted or was measured to be the fastest") {
  const Problem asked = problem(8000, 100, 8, 128);
  const auto place_of = [](const Plan& plan, const char* algorithm) {
    return std::ranges::find(plan.candidates, algorithm, &Candidate::algorithm);
  };
  const Plan plan = make_plan(asked, Machine{});
  const auto published = place_of(plan, "rabenseifner-gather");
  const auto ours = place_of(plan, "generalized-rabenseifner-scattered(8)");
  REQUIRE(published != plan.candidates.end());
  REQUIRE(ours != plan.candidates.end());
  CHECK(published->seconds() < ours->seconds());
  CHECK(ours < published);
  for (const std::size_t pairs : {1UL, 128UL, 4000UL})
    CHECK_FALSE(is_published(make_plan(problem(8000, 100, 8, pairs), Machine{}).candidates.front().algorithm));
  for (const char* const name : {"rabenseifner-gather", "pairwise-reduce-scatter"}) {
    CHECK(make_plan(asked, Machine{}, name).algorithm->name == name);
    Machine measured;
    measured.winners.push_back({8000, 100, 128, 8, DataType::f32, name});
    CHECK(make_plan(asked, measured).algorithm == plan.algorithm);
  }
}

TEST_CASE("a pipelined allreduce hides the latency of messages, not the processor's overhead") {
  const auto seconds = [](const char* algorithm, Machine machine) {
    return make_plan(problem(1000, 1000, 8, 1), machine, algorithm).cost().seconds();
  };
  const Machine by_latency{.latency_seconds = 40e-6, .overhead_seconds = 1e-9, .gap_seconds = 1e-9};
  const Machine by_overhead{.latency_seconds = 1e-9, .overhead_seconds = 20e-6, .gap_seconds = 1e-9};
  for (const char* const dense : {"allreduce-ring", "allreduce-butterfly"}) {
    const std::string pipelined = std::string(dense) + "-pipelined(2)";
    CHECK(seconds(pipelined.c_str(), by_latency) < seconds(dense, by_latency));
    CHECK(seconds(pipelined.c_str(), by_overhead) > seconds(dense, by_overhead));
  }
}

TEST_CASE("overlapped allgathers make no narrow blocks") {
  const auto parameter = [](std::size_t n, std::size_t m) {
    const Machine machine{.gap_per_byte_seconds = 40e-9, .memory_bytes_per_second = 80e9, .hidden_share = 1};
    return make_plan(problem(n, m, 2, 128), machine, "allgather-overlapped").parameter;
  };
  CHECK(parameter(4000, 4000) == 16);
  CHECK(parameter(4000, 260) == 4);
  CHECK(parameter(100, 4000) == 2);
}

TEST_CASE("a named algorithm is taken, whatever it costs") {
  CHECK(make_plan(problem(4000, 4000, 8, 1), Machine{}, "allreduce-ring").algorithm_name() == "allreduce-ring");
}

TEST_CASE("sizes that overflow are refused") {
  CHECK_THROWS_AS(make_plan(problem(std::size_t{1} << 40, std::size_t{1} << 40, 2, 1), Machine{}), ArgumentError);
  CHECK_THROWS_AS(make_plan(problem(1000, 1000, 2, std::size_t{1} << 60), Machine{}), ArgumentError);
  CHECK_THROWS_AS(make_plan(problem(SIZE_MAX, 0, 2, 1), Machine{}), ArgumentError);
}

TEST_CASE("a problem whose parts do not fit its ranks is refused") {
  const auto error = [](auto spoil) {
    Problem spoilt = problem(4, 5, 3, 1);
    spoil(spoilt);
    return argument_error_of([&] { make_plan(spoilt, Machine{}); });
  };
  CHECK(error([](Problem&) {}) == "");
  CHECK(error([](Problem& p) { p.pairs.clear(); }) == "problem.pairs is empty, expected one number of pairs a rank");
  CHECK(error([](Problem& p) { p.sparsity.resize(3); }) == "");
  CHECK(error([](Problem& p) { p.sparsity.resize(2); }) ==
        "problem.sparsity.size() is 2, expected one for each of 3 ranks");
  CHECK(error([](Problem& p) { p.sparsity.resize(4); }) ==
        "problem.sparsity.size() is 4, expected one for each of 3 ranks");
  CHECK(error([](Problem& p) { p.group.nodes = {0, 0}; }) == "nodes.size() is 2, expected one for each of 3 ranks");
  for (const std::vector<int>& good : std::vector<std::vector<int>>{{0, 0, 0}, {0, 1, 0}, {0, 1, 2}})
    CHECK(error([&](Problem& p) { p.group.nodes = good; }) == "");
  const auto bad_node = [&](std::vector<int> nodes) { return error([&](Problem& p) { p.group.nodes = nodes; }); };
  CHECK(bad_node({5, 5, 5}) == "nodes[0] is 5, expected the lowest rank of that rank's node");
  CHECK(bad_node({-1, -1, 2}) == "nodes[0] is -1, expected the lowest rank of that rank's node");
  CHECK(bad_node({0, 2, 2}) == "nodes[1] is 2, expected the lowest rank of that rank's node");
  CHECK(bad_node({0, 0, 1}) == "nodes[2] is 1, expected the lowest rank of that rank's node");
}

TEST_CASE("a plan's workspace and bounds fit its problem") {
  Problem unequal = problem(10, 20, 3, 0);
  unequal.pairs = {2, 0, 5};
  const Plan plan = make_plan(unequal, Machine{}, "allgather");
  CHECK(plan.pair_bounds == std::vector<std::size_t>{0, 2, 2, 7});
  CHECK(plan.workspace_bytes == 7 * 30 * sizeof(float));
}

TEST_CASE("measured steps are followed from size to size") {
  Machine machine;
  machine.latency_seconds = 10e-6;
  machine.overhead_seconds = 2e-6;
  CHECK(machine.message_seconds(0) == Approx(14e-6));
  machine.ring_step_seconds = {20e-6, 40e-6, 100e-6, 1e-3, 4e-3, 16e-3};
  for (std::size_t i = 0; i < step_bytes.size(); ++i)
    CHECK(machine.message_seconds(step_bytes[i]) == Approx(machine.ring_step_seconds[i]));
  CHECK(machine.message_seconds(0) == Approx(14e-6));
  CHECK(machine.message_seconds(512) == Approx(17e-6));
  CHECK(machine.message_seconds((std::size_t{1} << 20) + (std::size_t{1} << 19)) == Approx(6e-3));
  CHECK(machine.message_seconds(std::size_t{1} << 23) == Approx(32e-3));
  CHECK(machine.exchange_seconds(1 << 20) < machine.message_seconds(1 << 20));  // not measured: the line
}

TEST_CASE("a product takes what writing G does, or its arithmetic if that is more") {
  Machine machine{.flops_per_second = 32e9, .blas_flops_per_second = 16e9, .memory_bytes_per_second = 8e9};
  const auto seconds = [&](double n, double K, DataType type) { return machine.product_seconds(n, 1000, K, type); };
  CHECK(seconds(1000, 0, DataType::f32) == Approx(0.5e-3));
  CHECK(seconds(1000, 6, DataType::f32) == Approx(0.625e-3));  // 3/8 ms of arithmetic
  CHECK(seconds(1000, 128, DataType::f64) == Approx(16e-3).epsilon(0.01));
  CHECK(seconds(1000, 256, DataType::f32) == Approx(32e-3).epsilon(0.01));  // by BLAS
  machine.write_bytes_per_second = 2e9;
  CHECK(seconds(1000, 0, DataType::f32) == Approx(2e-3));
  CHECK(seconds(16000, 0, DataType::f32) == Approx(32e-3));
  machine.large_write_bytes_per_second = 4e9;
  CHECK(seconds(1000, 0, DataType::f32) == Approx(2e-3));
  CHECK(seconds(16000, 0, DataType::f32) == Approx(16e-3));
  CHECK(seconds(4000, 0, DataType::f64) == Approx(16e-3));
  CHECK(seconds(4500, 0, DataType::f64) == Approx(9e-3));
}

TEST_CASE("a measured winner is taken for its problem and nearly such ones") {
  Machine machine;
  machine.winners = {{1000, 1000, 10, 4, DataType::f32, "allreduce-butterfly"},
                     {1100, 1000, 10, 4, DataType::f32, "allreduce-rabenseifner"}};
  const Plan plan = make_plan(problem(1000, 1000, 4, 10), machine);
  CHECK(plan.algorithm_name() == "allreduce-butterfly");
  CHECK(plan.reason == "measured to be the fastest on this machine");
  CHECK(make_plan(problem(1090, 1000, 4, 10), machine).algorithm_name() == "allreduce-rabenseifner");
  CHECK(make_plan(problem(1000, 1000, 5, 10), machine).reason.starts_with("least predicted time"));
  CHECK(make_plan(problem(2000, 1000, 4, 10), machine).reason.starts_with("least predicted time"));
  CHECK(make_plan(problem(1000, 1000, 4, 10), machine, "allgather").algorithm_name() == "allgather");
  machine.winners[0].algorithm = "hierarchical";  // measured where ranks share nodes
  CHECK(make_plan(problem(1000, 1000, 4, 10), machine).algorithm_name() == "allreduce-rabenseifner");
  Problem other = problem(1000, 1000, 4, 10);
  other.group.nodes = {0, 0, 2, 2};
  CHECK(make_plan(other, machine).algorithm_name() == "hierarchical");
  other.wire = Wire::bf16;
  CHECK(make_plan(other, machine).reason.starts_with("least predicted time"));
  other.sharded = true;
  CHECK(make_plan(other, machine).reason.starts_with("least predicted time"));
  machine.winners = {{1000, 1000, 10, 4, DataType::f32, "fastest"}};
  CHECK_THROWS_WITH(make_plan(problem(1000, 1000, 4, 10), machine), Catch::Contains("winners is fastest"));
}

TEST_CASE("what runs inside the MPI library is taken where it was measured to win, never by its formula") {
  Problem gradient = problem(1000, 1000, 8, 1000);
  gradient.group.native = true;
  Machine machine{.latency_seconds = 1e-3};  // few messages win, as MPI's formula has them too
  CHECK(make_plan(gradient, machine).algorithm_name() == "allreduce-rabenseifner");
  CHECK(make_plan(gradient, machine).candidates.size() ==
        make_plan(gradient, machine, "allreduce-mpi").candidates.size());
  machine.winners = {{1000, 1000, 1000, 8, DataType::f32, "allreduce-mpi"}};
  CHECK(make_plan(gradient, machine).algorithm_name() == "allreduce-mpi");
  gradient.group.native = false;  // as threads there is none
  CHECK(make_plan(gradient, machine).algorithm_name() != "allreduce-mpi");
}

TEST_CASE("auto sends sparse vectors in fewer bytes than a dense allreduce or makes dense sums, and packing counts") {
  const Machine network{.gap_per_byte_seconds = 8e-9, .memory_bytes_per_second = 14e9, .indexed_addition_factor = 1};
  Machine cores = network;
  cores.memory_bytes_per_second = 1e9;
  for (const Machine& machine : {network, cores})
    for (const std::size_t P : {2UL, 4UL, 8UL})
      for (const double density : {0.05, 0.1, 0.2, 0.4, 0.5, 0.6, 0.75, 0.9}) {
        constexpr std::size_t N = 1 << 20;
        const auto k = static_cast<std::size_t>(density * N);
        const SparsePlan plan = make_sparse_plan({.elements = N, .nonzeros = std::vector(P, k)}, machine);
        std::size_t dense_bytes = SIZE_MAX;
        for (const Candidate& candidate : plan.candidates) {
          if (!candidate.unsupported.empty()) continue;
          INFO("P = " << P << ", density " << density << ": " << candidate.algorithm);
          if (candidate.algorithm.starts_with("dense-"))
            dense_bytes = std::min(dense_bytes, candidate.cost.bytes);
          else  // what a rank holds is read and written at least once
            CHECK(candidate.cost.arithmetic_seconds >=
                  machine.addition_seconds(static_cast<double>(k), DataType::f32) +
                      machine.memory_seconds(2 * static_cast<double>(std::min(8 * k, 4 * N))));
        }
        INFO("P = " << P << ", density " << density << ": takes " << plan.algorithm_text());
        CHECK((plan.algorithm->makes_dense || plan.cost().bytes < dense_bytes));
      }
}

TEST_CASE("the exchanges that a plan will make are those whose cost it states, and nothing else is exchanged") {
  Problem eight = problem(600, 300, 8, 5);
  eight.group.nodes = {0, 0, 2, 2, 4, 4, 6, 6};
  const Machine machine{.hidden_share = 0.5};
  for (const OuterProductAlgorithm& algorithm : outer_product_algorithms()) {
    if (!why_unsupported(algorithm, eight).empty()) continue;
    const Plan plan = make_plan(eight, machine, algorithm.name);
    INFO(plan.algorithm_text());
    const Cost cost = algorithm.cost(algorithm, plan.problem, machine, plan.parameter, plan);
    CHECK(cost.messages == plan.cost().messages);
    CHECK(cost.bytes == plan.cost().bytes);
    CHECK(cost.seconds() == plan.cost().seconds());
    const bool makes_none = algorithm.dense != nullptr;
    CHECK((plan.factors.algorithm == nullptr && plan.gradient.algorithm == nullptr && plan.segments.empty()) ==
          makes_none);
  }
}

TEST_CASE("a call's predicted time is that of its algorithm after the ranks have agreed") {
  const Machine machine{.latency_seconds = 30e-6, .overhead_seconds = 1e-9, .gap_seconds = 1e-9};
  const double alpha = machine.latency_seconds + 2 * machine.overhead_seconds;
  const auto agreement = [&](double record_bytes) {
    return 3 * alpha + 7 * record_bytes * machine.gap_per_byte_seconds;
  };

  const Plan large = make_plan(problem(4000, 4000, 8, 1), machine, "allgather-ring");
  CHECK(large.seconds() == Approx(agreement(32) + large.cost().seconds()));
  const Plan rides = make_plan(problem(40, 20, 8, 2), machine);
  CHECK(rides.seconds() == Approx(agreement(32 + 2 * 60 * 4) + rides.cost().arithmetic_seconds));
  const Plan named = make_plan(problem(40, 20, 8, 2), machine, "allgather-ring");
  CHECK(named.seconds() == Approx(agreement(32) + named.cost().seconds()));
  const SparsePlan sparse = make_sparse_plan({.elements = 1000, .nonzeros = std::vector<std::size_t>(8, 10)}, machine);
  CHECK(sparse.seconds() == Approx(agreement(32) + sparse.cost().seconds()));

  const auto has_one_that_rides = [&](const Problem& given) {
    const Plan plan = make_plan(given, machine, given.sharded ? "auto" : "allgather");
    return std::any_of(plan.candidates.begin(), plan.candidates.end(), [](const Candidate& c) { return c.piggybacks; });
  };
  CHECK(has_one_that_rides(problem(40, 20, 8, 2)));
  CHECK_FALSE(has_one_that_rides(problem(40, 20, 8, 200)));  // too long
  CHECK_FALSE(has_one_that_rides(problem(40, 20, 1, 2)));
  Problem other = problem(40, 20, 8, 2);
  other.sparsity.assign(8, {.a = 1, .b = 1});
  CHECK_FALSE(has_one_that_rides(other));
  other = problem(40, 20, 8, 2);
  other.sharded = true;
  CHECK_FALSE(has_one_that_rides(other));
  other = problem(40, 20, 8, 2);
  other.factor_wire = Wire::bf16;
  CHECK(make_plan(other, machine).candidates[0].agreement_seconds == Approx(agreement(32 + 2 * 60 * 2)));
  other = problem(40, 20, 8, 2);
  other.given_sparse = true;
  CHECK_FALSE(has_one_that_rides(other));

  std::ostringstream text;
  text << rides;
  CHECK(text.str().find(" with the factors, arithmetic ") != std::string::npos);
}

TEST_CASE("auto lets factors ride only where that is predicted to take the least time") {
  const Machine machine = machine_of_hosts();
  Problem given = problem(1000, 1000, 8, 1);
  const Plan apart = make_plan(given, machine);
  CHECK(apart.algorithm_text() == "allgather");
  CHECK(apart.reason == "the factors are so few that they ride in the agreement");
  CHECK(apart.candidates[0].piggybacks);

  given.group.nodes = {0, 0, 0, 0,
                       4, 4, 4, 4};  // the agreement's messages leave a node more often than those of one leader
  const Plan shared = make_plan(given, machine);
  CHECK(shared.algorithm_text() == "hierarchical");
  const auto next = std::find_if(shared.candidates.begin(), shared.candidates.end(),
                                 [&](const Candidate& one) { return one.seconds() > shared.seconds(); });
  std::ostringstream reason;
  reason << "least predicted time, " << std::fixed << std::setprecision(2) << next->seconds() / shared.seconds()
         << "x ahead of " << next->algorithm;
  CHECK(shared.reason == reason.str());
  const Plan named = make_plan(given, machine, "allgather");
  CHECK(named.chosen().piggybacks);
  CHECK(named.auto_choice == "hierarchical");
  CHECK(shared.seconds() < named.seconds());
}
