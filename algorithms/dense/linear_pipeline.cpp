// Linear pipeline: Wang, Wu, Xu, Bosilca and Vuduc, "Efficient Communications in Training Large Scale Neural Networks"
// (2016), section 3.1 and figure 2c. The ranks are a chain, from the root on where there is one.
//
//   broadcast  Each rank passes on the blocks of the vector as they come, one while it receives the next.
//   reduce     Blocks go towards the root. Each rank adds its own block to the sum of those behind it and passes it on,
//              while it receives the next and sends the one before.
//   allreduce  Blocks go down to rank 0, each rank adding its own; rank 0 sends each finished block back up the chain
//              at once, while others still come down: the pipe is filled once.
//
// In step i of the last, rank r passes on the sum of block i and the total of an earlier one, the earlier the farther
// it is from rank 0. Ranks in the middle send both ways over one link, where three messages of each stream take turns:
// so each rank is two times three steps further behind, and nobody waits in each step for a message that was only just
// sent.
//
// Time that of n / b blocks of b and of P - 2 messages of 2 b (pipeline_blocks.hpp), where two blocks take longer than
// a message's latency; hardly more for more ranks while n / b >> P. Cost: n / b + 1 messages, N words; of sums N
// additions, hidden but for a block on each hop. Of the allreduce twice as many messages and words (half of it at the
// chain's ends).
#include "algorithms/dense/pipeline_blocks.hpp"
#include "kernels/add.hpp"
#include "patterns/segment_messages.hpp"

namespace dsop::dense {
namespace {

template <class T>
void allreduce(DenseCall<T>& call) {
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

template <class T>
void broadcast(DenseCall<T>& call) {
  auto transport = from_root(call.transport, call.root);
  const int r = transport.rank();
  const bool is_last = r + 1 == transport.size();
  const PipelineBlocks blocks(call.data.size(), data_type<T>, call.parameter);
  const int m = blocks.count();
  patterns::SegmentMessages messages(transport);
  const auto receive = [&](int i) {
    if (r > 0 && i < m) messages.receive(i % blocks_ahead, blocks.of(call.data, i), r - 1);
  };

  for (int i = 0; i < blocks_ahead; ++i) receive(i);
  for (int i = 0; i < m; ++i) {
    messages.wait_received(i % blocks_ahead);
    receive(i + blocks_ahead);
    messages.wait_sent(i % blocks_ahead);
    if (!is_last) messages.send(i % blocks_ahead, blocks.of(call.data, i), r + 1);
  }
  for (int i = 0; i < blocks_ahead; ++i) messages.wait_sent(i);
}

template <class T>
void reduce(DenseCall<T>& call) {
  auto transport = from_root(call.transport, call.root);
  const int r = transport.rank();
  const bool is_last = r + 1 == transport.size();
  const PipelineBlocks blocks(call.data.size(), data_type<T>, call.parameter);
  const int m = blocks.count();
  const BlocksAhead<T> received(call.memory, call.problem(), call.parameter);
  const auto sum_behind = [&](int i) {
    return received.of[static_cast<std::size_t>(i % blocks_ahead)].first(blocks.size(i));
  };
  patterns::SegmentMessages messages(transport);
  const auto receive = [&](int i) {
    if (!is_last && i < m) messages.receive(i % blocks_ahead, sum_behind(i), r + 1);
  };

  for (int i = 0; i < blocks_ahead; ++i) receive(i);
  for (int i = 0; i < m; ++i) {
    const std::span<T> x = blocks.of(call.data, i);
    messages.wait_received(i % blocks_ahead);
    if (!is_last) kernels::add<T>(x, x, sum_behind(i));
    receive(i + blocks_ahead);
    messages.wait_sent(i % blocks_ahead);
    if (r > 0) messages.send(i % blocks_ahead, x, r - 1);
  }
  for (int i = 0; i < blocks_ahead; ++i) messages.wait_sent(i);
}

// A rank's link carries the vector twice. The pipe is as long as the way down and the way back.
Cost allreduce_cost(const DenseProblem& problem, const Machine& machine, double block_kib) {
  return adding_pipeline_cost(problem, machine, block_kib, Route::there_and_back);
}
Cost broadcast_cost(const DenseProblem& problem, const Machine& machine, double block_kib) {
  return pipeline_cost(problem, machine, block_kib, Route::one_way);
}
Cost reduce_cost(const DenseProblem& problem, const Machine& machine, double block_kib) {
  return adding_pipeline_cost(problem, machine, block_kib, Route::one_way);
}

}  // namespace

DenseAlgorithm linear_pipeline() {
  return {.name = "linear-pipeline",
          .summary = "block by block down a chain of ranks, adding, and back up as they are finished",
          .source = "Wang et al. 2016, section 3.1",
          .parameter = block_size(),
          .cost = allreduce_cost,
          .workspace_bytes = counted<BlocksAhead>,
          .run = [](auto& call) { allreduce(call); }};
}

DenseAlgorithm broadcast_linear_pipeline() {
  return {.name = "linear-pipeline",
          .summary = "block by block along a chain of ranks; time hardly grows with P",
          .source = "Wang et al. 2016, section 3.1",
          .parameter = block_size(),
          .cost = broadcast_cost,
          .run = [](auto& call) { broadcast(call); }};
}

DenseAlgorithm reduce_linear_pipeline() {
  return {.name = "linear-pipeline",
          .summary = "block by block along a chain of ranks, adding; time hardly grows with P",
          .source = "Wang et al. 2016, section 3.1",
          .parameter = block_size(),
          .cost = reduce_cost,
          .workspace_bytes = counted<BlocksAhead>,
          .run = [](auto& call) { reduce(call); }};
}

}  // namespace dsop::dense
