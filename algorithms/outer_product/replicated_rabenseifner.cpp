// Replicated Rabenseifner: between Generalized Rabenseifner (f = 0) and the allgather of factors (f = 1), after both in
// the DSOP paper (Enderlin et al. 2021).
//
//   1. Allgather of all factors.
//   2. Rank r computes its block of the first (1 - f) n rows of G.
//   3. Allgather of these blocks. Whenever a rank would wait in it, it computes a piece of the last f n rows instead;
//      these every rank computes for itself.
//   4. It computes what is left of them.
//
// Rows of the first kind are computed by one rank and sent; the others by all, in the same pieces and the same way (the
// plan's shared_method), so that no bit depends on when messages arrive.
// Cost: (P-1) k (n+m) + (1-f) (P-1)/P n m words; (2 k (1-f) + 2 P k f) n m flops. Steps 3 and 4 last as long as the
// exchange, or as the pieces and the copying of what is received, which a processor does too: the best f makes both
// equal.
#include <algorithm>
#include <cmath>

#include "algorithms/outer_product/pairs.hpp"
#include "transport/working.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Blocks;

std::size_t owned_rows(const Problem& problem, double f) {
  return static_cast<std::size_t>(std::lround((1 - f) * static_cast<double>(problem.rows)));
}

// Short beside a step of the exchange, which nobody carries on meanwhile; the product is as fast for so many rows.
std::size_t rows_of_a_piece(const Problem& problem) {
  constexpr std::size_t piece_bytes = 1 << 18;
  return std::max(piece_bytes / (problem.columns * bytes_of(problem.type)), std::size_t{64});
}

template <class T>
struct Memory {
  Memory(Arena& arena, const Problem& problem, double f)
      : factors(arena, problem), wire(wire_memory(arena, problem.wire, owned_rows(problem, f) * problem.columns)) {}
  GatheredFactors<T> factors;
  std::span<kernels::Bf16> wire;
};

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  const int r = call.transport.rank();
  const std::size_t owned = owned_rows(call.plan.problem, call.plan.parameter);
  const Blocks rows(owned, call.transport.size());
  const std::size_t piece = owned > 0 ? rows_of_a_piece(call.plan.problem) : G.rows;
  const Memory<T> memory(call.memory, call.plan.problem, call.plan.parameter);
  const Factors<T> all = gather_factors(call, memory.factors);

  const std::size_t replicated_bytes = (G.rows - owned) * G.columns * sizeof(T);
  std::size_t made = owned;
  const auto make_piece = [&] {
    if (made == G.rows) return false;
    const std::size_t count = std::min(piece, G.rows - made);
    kernels::product<T>(all.a.column_range(made, count), all.b, G.row_range(made, count), call.scale, 0,
                        call.plan.shared_method, replicated_bytes);
    made += count;
    return true;
  };
  kernels::product<T>(all.a.column_range(rows.offset(r), rows.size(r)), all.b,
                      G.row_range(rows.offset(r), rows.size(r)), call.scale, 0);
  if (owned > 0) {
    WorkingTransport never_idle(call.transport, make_piece);
    share_parts(never_idle, call.plan.gradient, std::span<T>(G.data, owned * G.columns), memory.wire);
  }
  while (make_piece()) {
  }
}

Exchanges exchanges(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double f) {
  Exchanges exchanges = all_factors(self, problem, machine, f);
  const std::size_t owned = owned_rows(problem, f);
  if (owned > 0) exchanges.gradient = exchange_of_parts(self, row_blocks(problem, owned, problem.ranks()), machine);
  return exchanges;
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double f,
          const Exchanges& exchanges) {
  const std::size_t owned = owned_rows(problem, f);
  const std::size_t own = Blocks(owned, problem.ranks()).largest();
  const std::size_t replicated = problem.rows - owned;
  const LocalProduct product(problem);
  const double exchange_seconds = seconds(exchanges.gradient, machine);
  const auto copied_bytes = static_cast<double>(owned * problem.columns * bytes_on_wire(problem));
  const double copying_seconds = std::min(exchange_seconds, machine.memory_seconds(2 * copied_bytes));
  const double pieces_seconds = product.seconds(machine, replicated);

  Cost cost = exchange_cost(exchanges, problem.ranks(), machine);
  cost.flops = product.flops(own + replicated);
  cost.hide(std::min(pieces_seconds, exchange_seconds - copying_seconds), machine);
  cost.arithmetic_seconds = product.seconds(machine, own) + pieces_seconds +
                            factor_conversion_seconds(problem, machine) +
                            parts_conversion_seconds(problem, exchanges, machine);
  return cost;
}

std::vector<double> sixteenths(const OuterProductAlgorithm&, const Problem&) {
  std::vector<double> values;
  for (int i = 0; i <= 16; ++i) values.push_back(i / 16.0);
  return values;
}

std::string expected(double f, const OuterProductAlgorithm&, const Problem&) {
  return f >= 0 && f <= 1 ? "" : "a fraction from 0 to 1";
}

}  // namespace

OuterProductAlgorithm replicated_rabenseifner() {
  return {
      .name = "replicated-rabenseifner",
      .summary = "everybody computes a fraction of the rows of G while the owners' rows of the rest travel",
      .source = "between Enderlin et al. 2021 (DSOP)'s contribution and its allgather",
      .sends_bf16 = true,
      .parameter = {.name = "fraction of the rows that everybody computes", .values = sixteenths, .expected = expected},
      .exchanges = exchanges,
      .cost = cost,
      .workspace_bytes = counted<Memory>,
      .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::outer_product
