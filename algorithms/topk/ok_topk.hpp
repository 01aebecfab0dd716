// Ok-Topk, about the k largest of the sum of what all ranks select, by thresholds that are reused: after Li and
// Hoefler, "Near-Optimal Sparse Allreduce for Distributed Deep Learning" (PPoPP 2022), algorithm 1.
//
//   1. Every tau steps: regions in which ranks hold equally many elements, as the mean of what balances each.
//   2. Split and reduce: every rank gets what all have chosen of its region, and adds it.
//   3. Every tau' steps: allgather of all sums' values; global threshold = that of the k-th largest.
//   4. Balance and allgatherv: what of the sums reaches the threshold goes to everybody; where one rank holds more than
//      four times the mean of it, it is shared out evenly first.
//   5. What this rank has chosen and what came in 4. have in common is its part in the sum, the rest its residual.
//
// The local threshold, every tau' steps too, is the selection's ("threshold-reuse"). tau = 2 tau', as in two of the
// paper's three models, where they are 64 and 32.
//
// Thresholds that are off are replaced. Where 4. would not give within a fifth of k, its threshold is moved to that of
// 128 beside it whose count, over all ranks, is nearest to k; where that is not enough, 3. is made at once. The paper
// keeps thresholds for tau' steps whatever they choose, which serves where gradients change more slowly:
// "ok-topk-published" does.
//
// Also unlike in the paper, of values that are as large as the threshold in 3. those of lower index are taken, so that
// it gives k, and zeros are never sent. Counts that all ranks have decide all of it. A step at which nobody has
// anything but zeros sends nothing, and finds neither thresholds nor regions.
//
// Cost, k elements of each rank, alike: P - 1 messages in 2., log2 P and the allgather's in 4.; 2 k (P-1)/P words in
// each, as many again where 4. balances, and O(P): a header for each message of 2., a count of each rank in 4.
//
//   ranks not alike      2 k words in 2., less than 6 k in 4., whose allgather may send a block of up to four times the
//                        mean log2 P times
//   steps with 1.        an allreduce of P - 1 numbers, 2 (P-1) log2 P words
//   steps with 3.        the values that are not zero of all sums: k (P-1) words at most where ranks are alike, else
//                        2 k (P-1), since they are shared out from twice the mean on
//   a threshold moved    an allreduce of 128 numbers, 256 log2 P words, and counts again
#pragma once

#include "algorithms/topk/ok_topk_parts.hpp"

namespace dsop::topk {

/// What of it can be left out, to see what that is worth.
struct Variant {
  bool equal_regions = false;
  Balancing balancing = Balancing::where_uneven;
  patterns::Destinations destinations = patterns::Destinations::rotated;
  int messages_at_a_time = patterns::steps_ahead;
};

template <Variant variant, class T>
void run_ok_topk(TopKCall<T>& call) {
  const int r = call.transport.rank();
  const double tau_prime = call.plan.parameter;
  const OkTopKMemory<T> memory(call.memory, call.plan);
  const std::span<std::size_t> bounds = memory.bounds;

  if (variant.equal_regions)
    equal_regions(call);
  else if (call.state.bounds.empty() || is_multiple(call.state.selection.step, 2 * tau_prime))
    space_repartition(call, memory.regions);
  const Region region = region_of(call.state, r);
  const sparse::RunningSum<T> sum =
      split_and_reduce(call, memory.reduced, memory.other_reduced, memory.split,
                       {.destinations = variant.destinations, .ahead = variant.messages_at_a_time});
  const SparseVectorView<T>& reduced = sum.sum();

  std::size_t count = 0;
  const auto select_beyond = [&](Cut<T> cut, std::size_t first) {
    count = select(reduced, region, cut, first, memory.own);
    gather_offsets(call.transport, count, bounds);
  };
  const auto gives_about_k = [&] {
    const bool no_more = call.state.global_threshold == 0 && bounds.back() < call.plan.problem.k;
    return no_more || selection::is_about(bounds.back(), call.plan.problem.k);
  };
  const auto th = kernels::key_of(static_cast<T>(call.state.global_threshold));
  const bool reuses = !is_multiple(call.state.selection.step, tau_prime);
  if (reuses) select_beyond({.key = std::max<Key<T>>(th, 1)}, 0);
  if (reuses && !gives_about_k()) select_beyond(th_adjust(call, reduced, memory.counts), 0);
  if (!reuses || !gives_about_k()) {
    const Cut<T> cut = th_re_evaluate(call, reduced, bounds, sum.other());
    call.evaluated_global = true;
    select_beyond(cut, bounds[static_cast<std::size_t>(r)]);
  }
  gather_sum(call, memory, count, variant.balancing);
}

template <Variant variant>
TopKAlgorithm ok_topk_named(std::string name, std::string summary) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .source = "after Li and Hoefler 2022 (Ok-Topk), algorithm 1, which keeps thresholds whatever they choose",
          .selection = "threshold-reuse",
          .parameter = {.name = "steps between two evaluations of thresholds",
                        .values = [] { return std::vector<double>{32}; },
                        .expected = whole_number},
          .exchange = ok_topk_blocks,
          .cost = ok_topk_cost,
          .workspace_bytes = counted<OkTopKMemory>,
          .run = [](auto& call) { run_ok_topk<variant>(call); }};
}

}  // namespace dsop::topk
