// Linear pipeline allreduce: Wang, Wu, Xu, Bosilca and Vuduc, "Efficient Communications in Training Large Scale Neural
// Networks" (2016), section 3.1 and figure 2c.
//
//   The ranks are a chain. Blocks of the vector go down to rank 0, each rank adding its own; rank 0 sends each finished
//   block back up the chain at once, while others still come down: the pipe is filled once.
//
// In step i rank r passes on the sum of block i and the total of an earlier one, the earlier the farther it is from
// rank 0. Ranks in the middle send both ways over one link, where three messages of each stream take turns: so each
// rank is two times three steps further behind, and nobody waits in each step for a message that was only just sent.
// Cost: 2 (n / b + 1) messages, 2 N words (half of it at the chain's ends); N additions, hidden but for a block.
#include "algorithms/dense/pipeline_blocks.hpp"
#include "kernels/add.hpp"
#include "patterns/segment_messages.hpp"

namespace dsop::dense {
namespace {

template <class T>
void run(DenseCall<T>& call) {
  const int r = call.transport.rank();
  const bool is_last = r + 1 == call.transport.size();
  const PipelineBlocks blocks(call.data.size(), data_type<T>, call.parameter);
  const int m = blocks.count();
  const BlocksAhead<T> received(call.memory, call.problem(), call.parameter);
  const auto x = [&](int i) { return blocks.of(call.data, i); };
  const auto sum_behind = [&](int i) {
    return received.of[static_cast<std::size_t>(i % blocks_ahead)].first(blocks.size(i));
  };
  patterns::SegmentMessages sums(call.transport);
  patterns::SegmentMessages totals(call.transport);
  const auto receive_sum = [&](int i) {
    if (!is_last && i < m) sums.receive(i % blocks_ahead, sum_behind(i), r + 1);
  };
  const auto pass_on_sum = [&](int i) {
    sums.wait_received(i % blocks_ahead);
    if (!is_last && i < m) kernels::add<T>(x(i), x(i), sum_behind(i));
    receive_sum(i + blocks_ahead);
    sums.wait_sent(i % blocks_ahead);
    if (r > 0 && i < m) sums.send(i % blocks_ahead, x(i), r - 1);
  };
  const auto receive_total = [&](int j) {
    if (r > 0 && j >= 0 && j < m) totals.receive(j % blocks_ahead, x(j), r - 1);
  };
  const auto pass_on_total = [&](int j) {
    if (j >= 0) totals.wait_received(j % blocks_ahead);
    receive_total(j + blocks_ahead);  // its sum has been sent
    if (j >= 0) totals.wait_sent(j % blocks_ahead);
    if (!is_last && j >= 0 && j < m) totals.send(j % blocks_ahead, x(j), r + 1);
  };

  const int steps_behind = 2 * blocks_ahead * r;
  for (int i = 0; i < blocks_ahead; ++i) receive_sum(i);
  for (int i = 0; i < m + steps_behind + blocks_ahead; ++i) {
    pass_on_sum(i);
    pass_on_total(i - steps_behind);
  }
}

// A rank's link carries the vector twice. The pipe is as long as the way down and the way back.
Cost cost(const DenseProblem& problem, const Machine& machine, double block_kib) {
  return adding_pipeline_cost(problem, machine, block_kib, Route::there_and_back);
}

}  // namespace

DenseAlgorithm linear_pipeline() {
  return {.name = "linear-pipeline",
          .summary = "block by block down a chain of ranks, adding, and back up as they are finished",
          .source = "Wang et al. 2016, section 3.1",
          .parameter = block_size(),
          .cost = cost,
          .workspace_bytes = counted<BlocksAhead>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
