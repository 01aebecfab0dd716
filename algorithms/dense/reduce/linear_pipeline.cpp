// Linear pipeline reduce: Wang, Wu, Xu, Bosilca and Vuduc, "Efficient Communications in Training Large Scale Neural
// Networks" (2016), section 3.1.
//
//   The ranks are a chain from the root on, and blocks of the vector go towards the root. Each rank adds its own block
//   to the sum of those behind it and passes it on, while it receives the next and sends the one before.
//
// Time that of n / b blocks of b and of P - 2 messages of 2 b (pipeline_blocks.hpp), where no rank waits for a
// message's latency; hardly more for more ranks while n / b >> P. Cost: n / b + 1 messages, N words; N
// additions, hidden but for a block on each hop.
#include "algorithms/dense/from_root.hpp"
#include "algorithms/dense/pipeline_blocks.hpp"
#include "kernels/add.hpp"
#include "patterns/segment_messages.hpp"

namespace dsop::dense {
namespace {

template <class T>
void run(DenseCall<T>& call) {
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

Cost cost(const DenseProblem& problem, const Machine& machine, double block_kib) {
  return adding_pipeline_cost(problem, machine, block_kib, Route::one_way);
}

}  // namespace

DenseAlgorithm reduce_linear_pipeline() {
  return {.name = "linear-pipeline",
          .summary = "block by block along a chain of ranks, adding; time hardly grows with P",
          .source = "Wang et al. 2016, section 3.1",
          .parameter = block_size(),
          .cost = cost,
          .workspace_bytes = counted<BlocksAhead>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
