// Hierarchical allgather of the factors: the ranks of a node speak to other nodes with one voice, its lowest rank's.
// The usual shape of collectives on clusters of multi-core nodes (for example Traff, "Efficient Allgather for Regular
// SMP-Clusters", 2006), here with factors.
//
//   1. The ranks of a node send their factors to its leader.
//   2. Allgather of the nodes' factors among leaders.
//   3. The leader sends all factors to the others of its node. A copy within a node costs less than the gradient's
//      words would, so nobody owns rows:
//   4. every rank computes the whole G = A^T B, as in the allgather.
//
// Pairs lie, and are summed, in the order of nodes, then of ranks; every rank computes every element in the same way
// (the plan's shared_method).
// Cost of a leader among N nodes, with q ranks on its own: N - 1 + q - 1 messages; ((N-1) q k + (q-1) P k) (n+m) words,
// the second part within the node; 2 P k n m flops. A machine of one level charges messages within a node as it charges
// others, an upper bound.
#include <algorithm>
#include <utility>

#include "algorithms/outer_product/gather_factors.hpp"
#include "kernels/outer_product.hpp"
#include "patterns/network.hpp"
#include "transport/subset.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Partners;
using patterns::Step;

// The lowest rank of r's node, its leader.
int node_of(const Problem& problem, int r) {
  return problem.group.nodes[static_cast<std::size_t>(r)];
}

template <class Body>
void for_others_on_node(const Problem& problem, int r, Body body) {
  for (int q = 0; q < problem.ranks(); ++q)
    if (q != r && node_of(problem, q) == node_of(problem, r)) body(q);
}

// Where rank r's pairs begin in the order of nodes.
std::size_t first_pair(const Problem& problem, int r) {
  std::size_t before = 0;
  for (int q = 0; q < problem.ranks(); ++q)
    if (std::pair(node_of(problem, q), q) < std::pair(node_of(problem, r), r))
      before += problem.pairs[static_cast<std::size_t>(q)];
  return before;
}

// Puts all pairs there, as they travel.
template <class T, class Element>
void gather(OuterProductCall<T>& call, std::span<Element> everything) {
  const Problem& problem = call.plan.problem;
  const std::size_t pair = problem.rows + problem.columns;
  const int r = call.transport.rank();
  const int leader = node_of(problem, r);
  const auto factors_of = [&](int q) {
    return everything.subspan(first_pair(problem, q) * pair, problem.pairs[static_cast<std::size_t>(q)] * pair);
  };

  pack_pairs(call.own, MatrixView<Element>(everything.data(), problem.total_pairs(), pair), first_pair(problem, r));
  if (r != leader) {
    call.transport.send(factors_of(r), leader);
    call.transport.recv(everything, leader);
  } else {
    for_others_on_node(problem, r, [&](int q) { call.transport.recv(factors_of(q), q); });
    const std::vector<int>& nodes = call.plan.leaders;
    const auto node = std::find(nodes.begin(), nodes.end(), r) - nodes.begin();
    Subset leaders(call.transport, static_cast<int>(node), static_cast<int>(nodes.size()),
                   [&](int i) { return nodes[static_cast<std::size_t>(i)]; });
    allgather(leaders, call.plan.factors, everything);
    for_others_on_node(problem, r, [&](int q) { call.transport.send(everything, q); });
  }
}

template <class T>
void run(OuterProductCall<T>& call) {
  const std::size_t n = call.plan.problem.rows;
  const std::size_t m = call.plan.problem.columns;
  const GatheredFactors<T> memory(call.memory, call.plan.problem);
  const MatrixView<T> gathered = memory.pairs;
  as_they_travel(memory.elements, memory.wire, [&](auto everything) { gather(call, everything); });
  kernels::product<T>(gathered.column_range(0, n), gathered.column_range(n, m), call.gradient, call.scale, call.beta,
                      call.plan.shared_method);
}

Exchanges exchanges(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double) {
  AllgatherProblem nodes;  // by their leaders, no two of whom share one
  for (int r = 0; r < problem.ranks(); ++r)
    if (node_of(problem, r) == r) nodes.bounds_bytes.push_back(first_pair(problem, r) * pair_bytes(problem));
  nodes.bounds_bytes.push_back(problem.total_pairs() * pair_bytes(problem));
  return {.factors = exchange_of_factors(self, std::move(nodes), machine)};
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double,
          const Exchanges& exchanges) {
  const std::size_t all_bytes = problem.total_pairs() * pair_bytes(problem);
  const LocalProduct product(problem);
  const patterns::Network network(machine, problem.group.nodes, problem.ranks());

  Cost cost;
  double longest_in_node = 0;
  int node = 0;
  for (int r = 0; r < problem.ranks(); ++r) {
    const std::size_t own_bytes = problem.pairs[static_cast<std::size_t>(r)] * pair_bytes(problem);
    if (node_of(problem, r) != r) {
      cost.raise_to({1, own_bytes});
      continue;
    }
    std::size_t others = 0;
    Step pooling(network, Partners::same);
    double passing_on_seconds = 0;  // to one after the other
    for_others_on_node(problem, r, [&](int q) {
      ++others;
      pooling.send(q, r, problem.pairs[static_cast<std::size_t>(q)] * pair_bytes(problem));
      Step passing_on(network, Partners::same);
      passing_on.send_alone(r, q, all_bytes);
      passing_on_seconds += passing_on.seconds();
    });
    cost.raise_to(sent_by(node, exchanges.factors) + Traffic{others, others * all_bytes});
    longest_in_node = std::max(longest_in_node, pooling.seconds() + passing_on_seconds);
    ++node;
  }
  cost.flops = product.flops(problem.rows);
  cost.communication_seconds = longest_in_node + seconds(exchanges.factors, machine);
  cost.arithmetic_seconds = product.seconds(machine, problem.rows) + factor_conversion_seconds(problem, machine);
  return cost;
}

std::string unsupported(const OuterProductAlgorithm&, const Problem& problem) {
  return problem.group.nodes.empty() ? "needs ranks that share a node" : "";
}

}  // namespace

OuterProductAlgorithm hierarchical() {
  return {.name = "hierarchical",
          .summary = "the ranks of a node pool their factors, one rank of each node exchanges them, all make all of G",
          .source = "Traff 2006, for the factors of Enderlin et al. 2021 (DSOP)",
          .sends_gradient = false,
          .unsupported = unsupported,
          .exchanges = exchanges,
          .cost = cost,
          .workspace_bytes = counted<GatheredFactors>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::outer_product
