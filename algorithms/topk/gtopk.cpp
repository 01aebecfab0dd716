// gTop-k: Shi et al., "A Distributed Synchronous SGD Algorithm with Global Top-k Sparsification for Low Bandwidth
// Networks" (ICDCS 2019), algorithm 3.
//
//   1. Up a tree, distances 1, 2, 4, ...: a rank adds what its partner sends to what it has, and keeps the k largest.
//   2. What rank 0 has kept goes down the same tree.
//
// The result is the tree's: an element may be dropped half-way that would be among the k largest of the whole sum. The
// rank that drops or rounds off a part of a sum keeps it in its own residual, so nothing is lost. Of equals those of
// lower index are kept. Any P: who has no partner waits for the next distance. Cost: each message has k elements; rank
// 0 sends ceil(log2 P), 2 k log2 P words, and on the longest path, up and down, twice as many travel in turn.
#include <bit>

#include "algorithms/selection/cut.hpp"
#include "algorithms/sparse/expected.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "algorithms/topk/residual.hpp"
#include "patterns/steps.hpp"

namespace dsop::topk {
namespace {

using sparse::Index;
using sparse::Region;

std::size_t message_bytes(const TopKProblem& problem) {
  return sparse::packed_bytes(problem.elements, problem.k, problem.type, problem.wire);
}

// Values for which the sum of two ranks' elements needs room, whichever form it takes.
std::size_t most_in_two(const TopKProblem& problem) {
  return std::min(sparse::values_for_pairs(2 * problem.k, problem.type), problem.elements);
}

template <class T>
struct Memory {
  Memory(Arena& arena, const TopKPlan& plan)
      : message(arena.take<std::byte>(message_bytes(plan.problem))),
        both(arena.take<T>(most_in_two(plan.problem))),
        indices(arena.take<Index>(plan.problem.k)),
        values(arena.take<T>(plan.problem.k)),
        widened(arena.take<T>(sparse::most_widened(plan.problem.elements, plan.problem.k, plan.problem.wire))) {}
  std::span<std::byte> message;
  std::span<T> both;
  std::span<Index> indices;
  std::span<T> values;
  std::span<T> widened;
};

// The k largest of x, in memory for so many; the rest is added to the residual.
template <class T>
SparseVectorView<T> keep_largest(TopKCall<T>& call, const SparseVectorView<T>& x, std::span<Index> indices,
                                 std::span<T> values) {
  const Region all{0, x.dimension};
  std::size_t kept = 0, next = 0;
  const auto drop_to = [&](std::size_t end) {
    for (; next < end; ++next) call.values[index_of(x, all, next)] += x.values[next];
  };
  for_each_beyond(x.values, selection::find_cut(x.values, indices.size(), call.selection), 0, [&](std::size_t e) {
    drop_to(e);
    next = e + 1;
    indices[kept] = index_of(x, all, e);
    values[kept++] = x.values[e];
  });
  drop_to(x.values.size());
  return {x.dimension, indices, values};
}

template <class T>
void run(TopKCall<T>& call) {
  Transport& transport = call.transport;
  const int P = transport.size();
  const int r = transport.rank();
  const TopKProblem& problem = call.plan.problem;
  const Region all{0, problem.elements};
  const Memory<T> memory(call.memory, call.plan);
  const std::span<std::byte> message = memory.message;
  const auto unpacked = [&](std::span<T> values) { return sparse::unpack<T>(message, all, problem.wire, values); };

  SparseVectorView<T> x = call.own;
  leave_out(call.values, call.own.indices, Wire::full);
  int distance = 1;
  for (; distance < P && r % (2 * distance) == 0; distance *= 2) {
    const int partner = r + distance;
    if (partner >= P) continue;
    transport.recv(message, partner);
    x = keep_largest(call, sparse::sum(x, unpacked(memory.widened), memory.both), memory.indices, memory.values);
  }
  for (std::size_t e = 0; e < x.indices.size() && problem.wire == Wire::bf16; ++e)
    call.values[x.indices[e]] += rounded_off(x.values[e], problem.wire);
  sparse::pack(x, all, message, problem.wire);
  if (r > 0) {
    transport.send(message, r - distance);
    transport.recv(message, r - distance);
  }
  for (distance /= 2; distance >= 1; distance /= 2)
    if (r + distance < P) transport.send(message, r + distance);
  call.sum = sparse::copy(unpacked(memory.widened), call.result);
  call.took_part = intersect(call.took_part, call.sum);
}

Cost cost(const TopKPlan& plan, const Machine& machine) {
  const auto levels = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(plan.problem.ranks - 1)));
  const std::size_t bytes = message_bytes(plan.problem);
  Cost cost{.messages = levels, .bytes = levels * bytes, .flops = static_cast<double>(levels * plan.problem.k)};
  const patterns::Network network(machine, plan.problem.group.nodes, plan.problem.ranks);
  for (int distance = 1; distance < plan.problem.ranks; distance *= 2)  // up, and down again
    cost.communication_seconds += 2 * patterns::tree_step(network, plan.problem.ranks, distance, bytes).seconds();
  const auto converted = static_cast<double>((levels + 1) * plan.problem.k);  // on each level up, and once down
  cost.arithmetic_seconds =
      sparse::summing_seconds(machine, 4 * cost.flops, plan.problem.type) +  // two each, gone through twice
      sparse::conversion_seconds(plan.problem, machine, converted, converted);
  return cost;
}

}  // namespace

TopKAlgorithm gtopk() {
  return {.name = "gtopk",
          .summary = "up and down a tree of ranks each of which keeps the k largest of two sums",
          .source = "Shi et al. 2019 (gTop-k), algorithm 3",
          .selection = "exact",
          .sends_k = true,
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::topk
