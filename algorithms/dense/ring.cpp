// Ring allreduce: reduce-scatter round the ring, then allgather round the ring. Patarasuk and Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations" (2009), section 3.
//
//   1. P - 1 steps: pass a block to the right, add the one that comes from the left. Block b starts at rank b, so its
//      sum is x_b + x_(b+1) + ... in the ring's order, whoever adds; rank r ends with all of block r + 1.
//   2. P - 1 steps: the sums go round once more.
//
// As bf16, a partial sum is rounded each time it is passed on, P - 1 times, and the sum once; it is added to in f32.
// Cost: 2 (P-1) messages; 2 (P-1)/P N words, any P; (P-1)/P N additions.
#include <algorithm>

#include "algorithms/dense/algorithm.hpp"
#include "kernels/add.hpp"
#include "kernels/bf16.hpp"
#include "patterns/blocks.hpp"
#include "patterns/ring.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {
namespace {

using patterns::Blocks;
using patterns::Ring;

// Of a sum that comes, or of all that travels as bf16.
template <class T>
struct Memory {
  Memory(Arena& arena, const DenseProblem& problem, double = 0)
      : partial_sum(arena.take<T>(problem.wire == Wire::full ? Blocks(problem.elements, problem.ranks).largest() : 0)),
        wire(arena.take<kernels::Bf16>(problem.wire == Wire::bf16 ? problem.elements : 0)) {}
  std::span<T> partial_sum;
  std::span<kernels::Bf16> wire;
};

template <class T>
void run(DenseCall<T>& call) {
  const Ring ring(call.transport);
  const Blocks blocks(call.data.size(), ring.size);
  const Memory<T> memory(call.memory, call.problem());
  const auto block = [&](int b) { return blocks.of(call.data, ring.wrap(b)); };

  if (call.add) call.make(block(ring.rank));
  for (int s = 0; s < ring.size - 1; ++s) {
    const std::span<T> x = block(ring.rank - s - 1);
    if (call.add) {
      call.transport.sendrecv(block(ring.rank - s), ring.right(), x, ring.left());
      call.add(x);
      continue;
    }
    const std::span<T> partial_sum = memory.partial_sum.first(x.size());
    call.transport.sendrecv(block(ring.rank - s), ring.right(), partial_sum, ring.left());
    kernels::add<T>(x, partial_sum, x);
  }
  patterns::ring_allgather(call.transport, ring.rank + 1, block);
}

void run_bf16(DenseCall<float>& call) {
  const Ring ring(call.transport);
  const Blocks blocks(call.data.size(), ring.size);
  const std::span<kernels::Bf16> wire = Memory<float>(call.memory, call.problem(Wire::bf16)).wire;
  const auto block = [&](int b) { return blocks.of(call.data, ring.wrap(b)); };
  const auto on_wire = [&](int b) { return blocks.of(wire, ring.wrap(b)); };

  for (int s = 0; s < ring.size - 1; ++s) {
    kernels::round_to_bf16(on_wire(ring.rank - s), block(ring.rank - s));
    call.transport.sendrecv(on_wire(ring.rank - s), ring.right(), on_wire(ring.rank - s - 1), ring.left());
    kernels::add_widened(block(ring.rank - s - 1), on_wire(ring.rank - s - 1));
  }
  kernels::round_to_bf16(on_wire(ring.rank + 1), block(ring.rank + 1));
  patterns::ring_allgather(call.transport, ring.rank + 1, on_wire);
  kernels::widen(call.data, wire);
}

Cost cost(const DenseProblem& problem, const Machine& machine, double) {
  const int P = problem.ranks;
  const std::size_t N = problem.elements;
  if (P == 1) return {};
  const Blocks blocks(N, P);
  std::size_t fewest_not_sent = 2 * N;  // a rank keeps back one block in each phase, next to each other in the ring
  for (int b = 0; b < P; ++b) fewest_not_sent = std::min(fewest_not_sent, blocks.size(b) + blocks.size((b + 1) % P));

  Cost cost;
  cost.messages = 2 * static_cast<std::size_t>(P - 1);
  cost.bytes = (2 * N - fewest_not_sent) * bytes_on_wire(problem);
  const auto steps = static_cast<double>(P - 1);
  cost.flops = steps * static_cast<double>(N) / P;
  const patterns::Network network(machine, problem.group.nodes, P);
  cost.communication_seconds =
      2 * steps * patterns::ring_step(network, blocks.largest() * bytes_on_wire(problem)).seconds();
  cost.arithmetic_seconds = machine.addition_seconds(cost.flops, problem.type);
  if (problem.wire == Wire::bf16)  // of N elements rounded and N widened, six bytes each
    cost.arithmetic_seconds += machine.memory_seconds(12 * static_cast<double>(N));
  return cost;
}

}  // namespace

DenseAlgorithm ring() {
  return {.name = "ring",
          .summary = "reduce-scatter and allgather round a ring; least volume for every P",
          .source = "Patarasuk and Yuan 2009, section 3",
          .asks_for_sums = true,
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); },
          .run_bf16 = run_bf16};
}

}  // namespace dsop::dense
