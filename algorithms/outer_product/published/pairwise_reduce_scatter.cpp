// Reduce-scatter by pairwise exchange (Thakur, Rabenseifner and Gropp 2005, section 4.4), then allgather, with rows of
// the own product that are made just before they are sent. Halfway from an allreduce to Generalized Rabenseifner.
//
//   1. P - 1 steps: in step s rank r computes the rows of its own A_r^T B_r that rank r + s owns, and sends them there.
//      What comes from rank r - s, the sender's part of r's own rows, it adds to them.
//   2. Allgather of the finished rows.
//
// A sum is made by one rank, in the order r, r - 1, r - 2, ..., and sent to the others. Owners get gradient words
// where Generalized Rabenseifner gives them factors.
// Cost: P - 1 messages and an allgather's; 2 (P-1)/P n m words; 2 k n m flops and (P-1)/P n m additions.
#include "algorithms/outer_product/gather_factors.hpp"
#include "kernels/add.hpp"
#include "kernels/outer_product.hpp"
#include "patterns/steps.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Blocks;

template <class T>
struct Memory {
  Memory(Arena& arena, const Problem& problem, double = 0)
      : received(arena.take<T>(Blocks(problem.rows, problem.ranks()).largest() * problem.columns)) {}
  std::span<T> received;
};

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  const int P = call.transport.size();
  const int r = call.transport.rank();
  const Blocks rows(G.rows, P);
  const auto part = [&](int q) {
    const MatrixView<T> block = G.row_range(rows.offset(q), rows.size(q));
    return std::span<T>(block.data, block.rows * block.columns);
  };
  const auto make = [&](int q) {
    kernels::product<T>(call.own.a.column_range(rows.offset(q), rows.size(q)), call.own.b,
                        G.row_range(rows.offset(q), rows.size(q)), call.scale, 0);
  };

  const std::span<T> received = Memory<T>(call.memory, call.plan.problem).received.first(part(r).size());
  make(r);
  for (int s = 1; s < P; ++s) {
    const int to = (r + s) % P;
    make(to);
    call.transport.sendrecv(part(to), to, received, (r - s + P) % P);
    kernels::add<T>(part(r), part(r), received);
  }
  allgather(call.transport, call.plan.gradient, std::span(G.data, G.rows * G.columns));
}

Exchanges exchanges(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double) {
  return {.gradient = exchange_of_parts(self, row_blocks(problem, problem.rows, problem.ranks()), machine)};
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double,
          const Exchanges& exchanges) {
  const auto n = static_cast<double>(problem.rows);
  const auto m = static_cast<double>(problem.columns);
  const auto k = static_cast<double>(problem.largest_pairs());
  const auto others = static_cast<std::size_t>(problem.ranks() - 1);
  const AllgatherProblem& parts = exchanges.gradient.problem;

  Cost cost;
  for (int r = 0; r < problem.ranks(); ++r)
    cost.raise_to(Traffic{others, parts.total_bytes() - parts.bytes(r)} + sent_by(r, exchanges.gradient));
  const double additions = static_cast<double>(others) / problem.ranks() * n * m;
  cost.flops = 2 * k * n * m + additions;
  const patterns::Network network(machine, problem.group.nodes, problem.ranks());
  cost.communication_seconds =
      patterns::all_shifts_seconds(network, parts.largest_bytes()) + seconds(exchanges.gradient, machine);
  cost.arithmetic_seconds =
      machine.product_seconds(n, m, k, problem.type) + machine.addition_seconds(additions, problem.type);
  return cost;
}

}  // namespace

OuterProductAlgorithm pairwise_reduce_scatter() {
  return {.name = "pairwise-reduce-scatter",
          .summary = "owners get their rows of everybody's own product, add them, and send them round",
          .source = "after Thakur, Rabenseifner and Gropp 2005, section 4.4",
          .sends_factors = false,
          .published = true,
          .exchanges = exchanges,
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::outer_product
