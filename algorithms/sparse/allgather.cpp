// Allgather of sparse vectors, what frameworks do: "TopkA" in Li and Hoefler, "Near-Optimal Sparse Allreduce for
// Distributed Deep Learning" (2022), section 2.
//
//   1. Allgather: every rank ends with all vectors.
//   2. Every rank adds them, in the order of ranks.
//
// Cost, k elements of each rank: the allgather's messages; 2 k (P-1) words, a value and an index each; P k additions.
#include "algorithms/sparse/expected.hpp"

namespace dsop::sparse {
namespace {

AllgatherProblem vectors(const SparseProblem& problem, double) {
  return blocks_of(problem.group, problem.ranks(), [&](int r) {
    return packed_bytes(problem, problem.elements, problem.nonzeros[static_cast<std::size_t>(r)]);
  });
}

template <class T>
struct Memory {
  Memory(Arena& arena, const SparseProblem& problem, double = 0)
      : vectors(arena.take<SparseVectorView<T>>(problem.nonzeros.size())),
        widened(arena.take<T>(widened_elements(problem, problem.total_nonzeros()))) {
    std::size_t bytes = 0;
    for (const std::size_t k : problem.nonzeros) bytes += packed_bytes(problem, problem.elements, k);
    gathered = arena.take<std::byte>(bytes);
  }
  std::span<SparseVectorView<T>> vectors;
  std::span<T> widened;
  std::span<std::byte> gathered;
};

template <class T>
void run(SparseCall<T>& call) {
  const int P = call.transport.size();
  const Region all{0, call.own.dimension};
  const SparseProblem& problem = call.plan.problem;
  const auto& nonzeros = problem.nonzeros;
  auto& bounds = call.exchange.problem.bounds_bytes;
  for (std::size_t q = 0; q < nonzeros.size(); ++q)
    bounds[q + 1] = bounds[q] + packed_bytes<T>(all.size, nonzeros[q], problem.wire);

  Memory<T> memory(call.memory, problem);
  AllgatherCall gather{call.transport, memory.gathered, call.exchange.problem};
  pack(call.own, all, gather.blocks(call.transport.rank()), problem.wire);
  call.exchange.algorithm->run(gather);
  for (int q = 0; q < P; ++q)
    memory.vectors[static_cast<std::size_t>(q)] = unpack<T>(gather.blocks(q), all, problem.wire, memory.widened);
  call.sum = sum_all(memory.vectors, call.result, most_summed(problem, all.size));
}

Cost cost(const SparsePlan& plan, const Machine& machine) {
  const SparseProblem& problem = plan.problem;
  const std::size_t gathered_bytes = plan.exchange.problem.total_bytes();
  const bool dense = problem.total_nonzeros() > most_summed(problem, problem.elements);
  Cost cost = cost_of(plan.exchange, machine);
  cost.flops = static_cast<double>(problem.total_nonzeros());
  for (const std::size_t k : problem.nonzeros)
    cost.arithmetic_seconds += adding_seconds(problem, machine, problem.elements, k);
  cost.arithmetic_seconds += packing_seconds(machine, gathered_bytes / problem.nonzeros.size(), gathered_bytes);
  cost.arithmetic_seconds += conversion_seconds(problem, machine, cost.flops / problem.ranks(), cost.flops);
  if (dense)
    cost.arithmetic_seconds += machine.memory_seconds(static_cast<double>(problem.elements * bytes_of(problem.type)));
  return cost;
}

}  // namespace

SparseAlgorithm allgather() {
  return {.name = "allgather",
          .summary = "everybody gets everybody's elements and adds them; fewest messages",
          .source = "Li and Hoefler 2022 (Ok-Topk), TopkA",
          .sends_bf16 = true,
          .exchange = vectors,
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::sparse
