// Ok-Topk as it was published: Li and Hoefler, "Near-Optimal Sparse Allreduce for Distributed Deep Learning" (PPoPP
// 2022), algorithm 1.
//
//   1. Every tau steps: regions in which ranks hold equally many elements, as the mean of what balances each.
//   2. Split and reduce: every rank gets what all have chosen of its region, and adds it.
//   3. Every tau' steps: allgather of all sums' values; th = the k-th largest magnitude.
//   4. Balance and allgatherv: all sums that are at least th go to all ranks. If one rank holds more than four times
//      the mean, they are shared out evenly first (section 5.3).
//   5. What this rank has chosen and what came in 4. have in common is its part in the sum, the rest its residual.
//
//   ok-topk-published(tau', tau)  the local threshold ("threshold-kept") and th stay for tau' steps, whatever they
//                                 choose
//   ok-topk-adapting(tau', tau)   as in the authors' program: the local threshold is "threshold-adapting". For the
//                                 next step th is raised by 0.8 % if the sum has more than 4k/3 elements, and lowered
//                                 by as much if it has fewer than 2k/3
//
// "ok-topk" has fixed bounds round k instead. Unlike in the paper zeros are never sent, regions are also found where
// there are none yet, and 3. gathers values without their indices. Nothing bounds what is chosen but N, so the memory
// for it has room for N elements.
// Cost: that of ok-topk for what is chosen; of steps with 1. or 3. too.
#include "algorithms/topk/ok_topk_parts.hpp"

namespace dsop::topk {
namespace {

enum class Thresholds : unsigned char { kept, adapting };

/// How the authors' program moves th for the next step, from how many the sum has.
double adapted(double th, std::size_t in_sum, std::size_t k) {
  if (3 * in_sum > 4 * k) return th * 1.008;
  if (3 * in_sum < 2 * k) return th / 1.008;
  return th;
}

template <Thresholds thresholds, class T>
void run(TopKCall<T>& call) {
  const double tau_prime = call.plan.parameter;
  const double tau = call.plan.second_parameter;
  double& th = call.state.global_threshold;
  const OkTopKMemory<T> memory(call.memory, call.plan);

  if (call.state.bounds.empty() || is_multiple(call.state.selection.step, tau)) space_repartition(call, memory.regions);
  const sparse::RunningSum<T> sum = split_and_reduce(call, memory.reduced, memory.other_reduced, memory.split);
  call.evaluated_global = is_multiple(call.state.selection.step, tau_prime);
  if (call.evaluated_global) th_re_evaluate(call, sum.sum(), memory.bounds, sum.other());
  const Cut<T> at_least_th{.key = std::max<Key<T>>(kernels::key_of(static_cast<T>(th)), 1)};
  const Region region = region_of(call.state, call.transport.rank());
  const std::size_t count = select(sum.sum(), region, at_least_th, 0, memory.own);
  gather_offsets(call.transport, count, memory.bounds);
  if (thresholds == Thresholds::adapting) th = adapted(th, memory.bounds.back(), call.plan.problem.k);
  gather_sum(call, memory, count, Balancing::where_uneven);
}

template <Thresholds thresholds>
TopKAlgorithm named(std::string name, std::string summary, std::string source, std::string selection) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .source = std::move(source),
          .selection = std::move(selection),
          .parameter = {.name = "steps between two evaluations of thresholds",
                        .values = [] { return std::vector<double>{32}; },
                        .expected = whole_number},
          .second_parameter = {.name = "steps between two partitions into regions",
                               .values = [] { return std::vector<double>{64}; },
                               .expected = whole_number},
          .keeps_thresholds = true,
          .published = true,
          .exchange = ok_topk_blocks,
          .cost = ok_topk_cost,
          .workspace_bytes = counted<OkTopKMemory>,
          .run = [](auto& call) { run<thresholds>(call); }};
}

}  // namespace

TopKAlgorithm ok_topk_published() {
  return named<Thresholds::kept>("ok-topk-published", "ok-topk with thresholds that are kept whatever they choose",
                                 "Li and Hoefler 2022 (Ok-Topk), algorithm 1", "threshold-kept");
}

TopKAlgorithm ok_topk_adapting() {
  return named<Thresholds::adapting>("ok-topk-adapting", "ok-topk with thresholds that are moved a little in each step",
                                     "Li and Hoefler 2022 (Ok-Topk), the authors' program", "threshold-adapting");
}

}  // namespace dsop::topk
