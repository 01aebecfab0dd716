// Linear pipeline broadcast: Wang, Wu, Xu, Bosilca and Vuduc, "Efficient Communications in Training Large Scale Neural
// Networks" (2016), section 3.1.
//
//   The ranks are a chain from the root on. Each passes on the blocks of the vector as they come, one while it receives
//   the next.
//
// Time that of n / b blocks of b and of P - 2 messages of 2 b (pipeline_blocks.hpp), where two blocks take longer than
// a message's latency; hardly more for more ranks while n / b >> P. Cost: n / b + 1 messages, N words.
#include "algorithms/dense/from_root.hpp"
#include "algorithms/dense/pipeline_blocks.hpp"
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

Cost cost(const DenseProblem& problem, const Machine& machine, double block_kib) {
  return pipeline_cost(problem, machine, block_kib, Route::one_way);
}

}  // namespace

DenseAlgorithm broadcast_linear_pipeline() {
  return {.name = "linear-pipeline",
          .summary = "block by block along a chain of ranks; time hardly grows with P",
          .source = "Wang et al. 2016, section 3.1",
          .parameter = block_size(),
          .cost = cost,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
