// Recursive doubling of sparse vectors: Renggli, "Efficient Sparse AllReduce For Scalable Machine Learning"
// (2017), section 3.3 (SSAR_Recursive_double).
//
//   For each dimension of the hypercube: swap the sums so far with the partner across it, and add.
//
// Both partners add in the order of their ranks, so their bits are the same. A sum becomes dense on its way where it is
// smaller or faster to add so. Cost, k elements of each rank: log2 P messages; 2 k log2 P words if all indices are the
// same, 2 k (P-1) if none are; otherwise one message with the whole sum more.
//
// As bf16 both partners add what they have sent, rounded, to what has come. Each element is rounded log2 P times;
// otherwise floor(log2 P) times, once more on its way from an extra, and once when the sum is sent back.
#include <algorithm>
#include <vector>

#include "algorithms/sparse/fold.hpp"

namespace dsop::sparse {
namespace {

// No sum has more elements.
std::size_t most_in_sum(const SparseProblem& problem) {
  const std::size_t total = problem.total_nonzeros();
  return total > most_summed(problem, problem.elements) ? Sparsity::dense : total;
}

template <class T>
struct Memory {
  Memory(Arena& arena, const SparseProblem& problem, double = 0)
      : phase(arena.mark()),
        fold(arena, problem),
        received(arena.rewind(phase).take<std::byte>(packed_bytes(problem, problem.elements, most_in_sum(problem)))),
        sent(arena.take<std::byte>(received.size())),
        widened(arena.take<T>(most_widened(problem.elements, most_in_sum(problem), problem.wire))),
        widened_sent(arena.take<T>(widened.size())) {}
  std::size_t phase;  ///< where the memory of each phase begins that follows
  FoldMemory<T> fold;
  std::span<std::byte> received;
  std::span<std::byte> sent;
  std::span<T> widened;
  std::span<T> widened_sent;
};

template <class T>
void run(SparseCall<T>& call) {
  Transport& transport = call.transport;
  const SparseProblem& problem = call.plan.problem;
  const patterns::Hypercube cube(transport.rank(), transport.size());
  const Region all{0, call.own.dimension};
  const std::size_t most = most_summed(problem, all.size);
  const Memory<T> memory(call.memory, problem);
  const auto unpacked = [&](std::span<const std::byte> packed, std::span<T> values) {
    return unpack<T>(packed, all, problem.wire, values);
  };

  call.sum = fold(call, cube, memory.fold, call.result);
  if (cube.is_extra()) {
    const std::size_t bytes = transport.recv(memory.received, cube.proxy(), Tag::payload, Length::told);
    call.sum = copy(unpacked(memory.received.first(bytes), memory.widened), call.result);
    return;
  }
  for (int distance = 1; distance < cube.corners; distance *= 2) {
    const int partner = cube.rank ^ distance;
    const std::span<const std::byte> packed = pack(call.sum, all, memory.sent, problem.wire);
    const SparseVectorView<T> mine = unpacked(packed, memory.widened_sent);
    const std::size_t bytes = transport.sendrecv(packed, partner, memory.received, partner, Tag::payload, Length::told);
    const SparseVectorView<T> theirs = unpacked(memory.received.first(bytes), memory.widened);
    call.sum = cube.rank < partner ? sum(mine, theirs, call.result, most) : sum(theirs, mine, call.result, most);
  }
  const bool extras_round = cube.corners < cube.ranks && problem.wire == Wire::bf16;
  if (!cube.has_extra() && !extras_round) return;
  const std::span<const std::byte> packed = pack(call.sum, all, memory.sent, problem.wire);
  if (cube.has_extra()) transport.send(packed, cube.extra(), Tag::payload, Length::told);
  if (extras_round) call.sum = copy(unpacked(packed, memory.widened_sent), call.result);  // what extras have
}

Cost cost(const SparsePlan& plan, const Machine& machine) {
  const SparseProblem& problem = plan.problem;
  const std::size_t N = problem.elements;
  const patterns::Hypercube cube(0, problem.ranks());
  const auto corners = static_cast<std::size_t>(cube.corners);
  const auto extras = static_cast<std::size_t>(cube.ranks) - corners;
  const std::size_t k = whole(problem.expected_union(1));
  const auto bytes = [&](std::size_t elements) { return packed_bytes(problem, N, elements); };

  const patterns::Network network = network_of(problem, machine);
  Cost cost;
  std::vector<std::size_t> sums(corners, k);  // of groups of corners with their extras
  std::vector<Traffic> sent(corners);
  if (extras > 0) {
    cost = fold_cost(problem, machine, cube.corners);
    std::fill_n(sums.begin(), extras, expected_folded(problem));
  }
  for (std::size_t distance = 1; distance < corners; distance *= 2) {
    const auto swapped = [&](int r) { return Traffic{1, bytes(sums[static_cast<std::size_t>(r) / distance])}; };
    for (int r = 0; r < cube.corners; ++r)
      sent[static_cast<std::size_t>(r)] = sent[static_cast<std::size_t>(r)] + swapped(r);
    cost.communication_seconds +=
        patterns::hypercube_step(network, cube.corners, static_cast<int>(distance), swapped).seconds();
    cost.flops += 2 * stored(sums[0], N);
    cost.arithmetic_seconds +=
        2 * adding_seconds(problem, machine, N, sums[0]) + packing_seconds(machine, bytes(sums[0]), 2 * bytes(sums[0]));
    cost.arithmetic_seconds += conversion_seconds(problem, machine, stored(sums[0], N), 2 * stored(sums[0], N));
    for (std::size_t group = 0; group < corners / (2 * distance); ++group) {
      const std::size_t first = 2 * distance * group;
      const std::size_t with_extra = std::clamp(extras, first, first + 2 * distance) - first;
      const auto ranks = static_cast<int>(2 * distance + with_extra);
      sums[group] = elements_of_sum(problem, sums[2 * group], sums[2 * group + 1], problem.expected_union(ranks));
    }
  }
  for (std::size_t r = 0; r < corners; ++r) cost.raise_to(r < extras ? sent[r] + Traffic{1, bytes(sums[0])} : sent[r]);
  if (sums[0] == Sparsity::dense)
    cost.arithmetic_seconds += machine.memory_seconds(static_cast<double>(N * bytes_of(problem.type)));
  if (extras > 0) {
    cost.communication_seconds += patterns::fold_step(network, cube.corners, bytes(sums[0])).seconds();
    cost.arithmetic_seconds += conversion_seconds(problem, machine, stored(sums[0], N), stored(sums[0], N));
  }
  return cost;
}

}  // namespace

SparseAlgorithm ssar_recursive_doubling() {
  return {.name = "ssar-recursive-doubling",
          .summary = "sums swapped across each dimension of a hypercube; for little data and much overlap",
          .source = "Renggli 2017 (SparCML), section 3.3",
          .sends_bf16 = true,
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::sparse
