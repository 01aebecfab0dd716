// Allgather of the factors, overlapped: the DSOP paper's (Enderlin et al. 2021) variants that make products while
// factors travel, here with the same bits on all ranks.
//
//   The columns of A are cut into S segments, and those of B; G then has S x S blocks A_i^T B_j.
//   1. For s = 1 .. S: allgather of A_s and B_s. Whenever a rank would wait in it, it computes a block of G instead, of
//      segments that have been gathered.
//   2. The rank computes the blocks that are left.
//
// The paper adds the factors of each rank as they come, an order that differs from rank to rank. A block takes all
// pairs at once, in the order of ranks, in the same way everywhere (the plan's shared_method); only when it is made
// depends on arrival. Both factors are cut, since a part x of both gives x^2 of G, while nothing of G could be made
// before all of A is there. Where exchange and product take as long as each other, many segments save 3/8 of the time.
// An allgather is a ring. No call keeps ranks in step between the allgathers of segments, so a rank that is ahead sends
// parts of the next. Round a ring they queue behind what the neighbour waits for. Where partners change, two messages
// share the neighbour's link, and long ones took up to twice the predicted time on eight hosts, by recursive doubling
// and by Bruck's, which has its own name here.
// Cost: that of S allgathers, (P-1) k (n+m) words; 2 P k n m flops.
#include <algorithm>
#include <utility>

#include "algorithms/outer_product/factor_segments.hpp"
#include "base/segments.hpp"
#include "kernels/outer_product.hpp"

namespace dsop::outer_product {
namespace {

constexpr int most_factor_segments = 16;

// Block number q of G, so numbered that the first s * s are those of the first s segments.
std::pair<int, int> block_number(int q) {
  int s = 0;
  while ((s + 1) * (s + 1) <= q) ++s;
  const int rest = q - s * s;
  return rest <= s ? std::pair(s, rest) : std::pair(rest - s - 1, s);
}

template <class T>
void run(OuterProductCall<T>& call) {
  const auto S = static_cast<int>(call.plan.parameter);
  const FactorSegments<T> segments(call, S, S);
  const std::size_t gradient_bytes = call.gradient.rows * call.gradient.columns * sizeof(T);
  int blocks_made = 0;
  segments.gather_all([&](int gathered) {
    if (blocks_made == gathered * gathered) return false;
    const auto [i, j] = block_number(blocks_made++);
    kernels::product<T>(segments.a(i), segments.b(j), segments.block_of_gradient(i, j), call.scale, call.beta,
                        call.plan.shared_method, gradient_bytes);
    return true;
  });
}

// Each block packs its factors anew. And where a row of a block ends, what the processor has fetched of the memory
// after it is of no use, some ten to twenty cache lines: 2000 x 2000 of one pair took 0.36 ms as a whole and 0.39,
// 0.42, 0.52 ms in 2, 4, 8 segments on one EPYC with AVX-512, 0.50 ms and 0.56, 0.70, 0.80 ms on another. Blocks that
// are written past the caches fetch nothing, and are charged all the same.
double blocks_seconds(const Problem& problem, const Machine& machine, double S) {
  const auto n = static_cast<double>(problem.rows);
  const auto m = static_cast<double>(problem.columns);
  const auto K = static_cast<double>(problem.total_pairs());
  const double packed_bytes = 2 * (S - 1) * K * (n + m) * static_cast<double>(bytes_of(problem.type));
  const double fetched_bytes = 1024 * (S - 1) * n;
  return machine.product_seconds(n, m, K, problem.type) + machine.memory_seconds(packed_bytes + fetched_bytes);
}

Exchanges exchanges(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double S) {
  return {.segments = factor_segments(self, problem, machine, static_cast<int>(S), static_cast<int>(S))};
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double S,
          const Exchanges& exchanges) {
  Cost cost = exchange_cost(exchanges, problem.ranks(), machine);
  cost.flops = LocalProduct(problem).flops(problem.rows);
  cost.arithmetic_seconds = blocks_seconds(problem, machine, S);
  const double idle_seconds = cost.idle_seconds(machine) / S;  // in the exchange of a segment
  double hidden_seconds = 0;
  for (double s = 0; s < S; ++s) {
    const double ready_seconds = cost.arithmetic_seconds * s * s / (S * S) - hidden_seconds;
    hidden_seconds += std::min(idle_seconds, ready_seconds);
  }
  cost.hide(hidden_seconds, machine);
  cost.arithmetic_seconds += factor_conversion_seconds(problem, machine);
  return cost;
}

std::vector<double> values(const OuterProductAlgorithm&, const Problem& problem) {
  constexpr std::size_t narrowest = 64;  // blocks of fewer rows or columns are slow to make
  const std::size_t most = std::min({problem.rows, problem.columns, narrowest * most_factor_segments}) / narrowest;
  return segment_counts(problem.largest_pairs() * pair_bytes(problem), static_cast<int>(most));
}

}  // namespace

OuterProductAlgorithm allgather_overlapped() {
  return {.name = "allgather-overlapped",
          .summary = "round a ring, in segments: blocks of G are made while later factors travel",
          .source = "after Enderlin et al. 2021 (DSOP), with the same bits on all ranks",
          .exchange = allgather_algorithms().find("ring"),
          .sends_gradient = false,
          .doubted_share = 0.0,
          .parameter = {.name = "number of segments of the factors",
                        .values = values,
                        .expected = expected_segments<most_factor_segments>},
          .exchanges = exchanges,
          .cost = cost,
          .workspace_bytes = counted<GatheredFactors>,
          .run = [](auto& call) { run(call); }};
}

OuterProductAlgorithm bruck_overlapped() {
  OuterProductAlgorithm algorithm = allgather_overlapped();
  algorithm.name = "bruck-overlapped";
  algorithm.exchange = allgather_algorithms().find("bruck");
  algorithm.summary = "as allgather-overlapped, factors " + algorithm.exchange->summary;
  algorithm.doubted_share = 1.0;  // ranks that are ahead share links with what others wait for
  return algorithm;
}

}  // namespace dsop::outer_product
