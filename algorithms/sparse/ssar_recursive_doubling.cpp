// Recursive doubling of sparse vectors: Renggli, "SparCML: High-Performance Sparse Communication for Machine Learning"
// (2017), section 3.3 (SSAR_Recursive_double).
//
//   For each dimension of the hypercube: swap the sums so far with the partner across it, and add.
//
// Both partners add in the order of their ranks, so their bits are the same. A sum becomes dense on its way where it is
// smaller or faster to add so. Cost, k elements of each rank: log2 P messages, each with another that tells its length;
// 2 k log2 P words if all indices are the same, 2 k (P-1) if none are; otherwise one message with the whole sum more.
#include <algorithm>
#include <vector>

#include "sparse/fold.hpp"
#include "sparse/unknown_length.hpp"

namespace dsop::sparse {
namespace {

using patterns::Hypercube;

// No message is longer.
std::size_t longest_bytes(const SparseProblem& problem) {
  const std::size_t total = problem.total_nonzeros();
  return packed_bytes(problem, problem.elements,
                      total > most_summed(problem, problem.elements) ? Sparsity::dense : total);
}

template <class T>
void run(SparseCall<T>& call) {
  Transport& transport = call.transport;
  const Hypercube cube(transport.rank(), transport.size());
  const Region all{0, call.own.dimension};
  const std::size_t bytes = longest_bytes(call.plan.problem);
  const std::size_t most = most_summed(call.plan.problem, all.size);
  Room room(call.workspace);
  const std::span<std::byte> received = room.take<std::byte>(bytes);
  const std::span<std::byte> x = room.take<std::byte>(bytes);

  call.sum = fold(call, cube, Room(call.workspace), call.result);
  if (cube.is_extra()) {
    call.sum = copy(unpack<T>(receive_with_length(transport, received, cube.proxy()), all), call.result);
    return;
  }
  for (int distance = 1; distance < cube.corners; distance *= 2) {
    const int partner = cube.rank ^ distance;
    const std::span<const std::byte> packed = pack(call.sum, all, x);
    const Stream<T> mine = unpack<T>(packed, all);
    const Stream<T> theirs = unpack<T>(swap_with_length(transport, packed, received, partner), all);
    call.sum = cube.rank < partner ? sum(mine, theirs, call.result, most) : sum(theirs, mine, call.result, most);
  }
  if (cube.has_extra()) send_with_length(transport, pack(call.sum, all, x), cube.extra());
}

Cost cost(const SparseAlgorithm&, const SparseProblem& problem, const Machine& machine, double) {
  const std::size_t N = problem.elements;
  const Hypercube cube(0, problem.ranks());
  const auto corners = static_cast<std::size_t>(cube.corners);
  const auto extras = static_cast<std::size_t>(cube.ranks) - corners;
  const std::size_t k = whole(problem.expected_union(1));
  const auto bytes = [&](std::size_t elements) { return packed_bytes(problem, N, elements); };
  const auto add = [&](std::size_t left, std::size_t right, std::size_t ranks) {
    return elements_of_sum(problem, left, right, problem.expected_union(static_cast<int>(ranks)));
  };
  const auto swapped_seconds = [&](std::size_t message_bytes) {
    if (message_bytes < asked_for_bytes) return machine.exchange_seconds(length_bytes + message_bytes, 2);
    return machine.exchange_seconds(length_bytes) + machine.exchange_seconds(message_bytes);
  };

  Cost cost;
  std::vector<std::size_t> sums(corners, k);  // of groups of corners with their extras
  std::vector<Traffic> sent(corners);
  if (extras > 0) {
    cost = fold_cost(problem, machine);
    std::fill_n(sums.begin(), extras, expected_folded(problem));
  }
  for (std::size_t distance = 1; distance < corners; distance *= 2) {
    for (std::size_t r = 0; r < corners; ++r) sent[r] = sent[r] + Traffic{2, length_bytes + bytes(sums[r / distance])};
    cost.communication_seconds += swapped_seconds(bytes(sums[0]));
    cost.flops += 2 * stored(sums[0], N);
    cost.arithmetic_seconds +=
        2 * adding_seconds(problem, machine, N, sums[0]) + packing_seconds(machine, bytes(sums[0]), 2 * bytes(sums[0]));
    for (std::size_t group = 0; group < corners / (2 * distance); ++group) {
      const std::size_t first = 2 * distance * group;
      const std::size_t with_extra = std::clamp(extras, first, first + 2 * distance) - first;
      sums[group] = add(sums[2 * group], sums[2 * group + 1], 2 * distance + with_extra);
    }
  }
  for (std::size_t r = 0; r < corners; ++r)
    cost.raise_to(r < extras ? sent[r] + Traffic{2, length_bytes + bytes(sums[0])} : sent[r]);
  if (sums[0] == Sparsity::dense)
    cost.arithmetic_seconds += machine.memory_seconds(static_cast<double>(N * bytes_of(problem.type)));
  if (extras > 0) cost.communication_seconds += machine.message_seconds(length_bytes + bytes(sums[0]), 2);
  return cost;
}

std::size_t workspace_bytes(const SparseAlgorithm&, const SparseProblem& problem, double) {
  return std::max(2 * Room::bytes<std::byte>(longest_bytes(problem)), fold_bytes(problem));
}

}  // namespace

SparseAlgorithm ssar_recursive_doubling() {
  return {.name = "ssar-recursive-doubling",
          .summary = "sums swapped across each dimension of a hypercube; for little data and much overlap",
          .source = "Renggli 2017 (SparCML), section 3.3",
          .cost = cost,
          .workspace_bytes = workspace_bytes,
          .run = {run<float>, run<double>}};
}

}  // namespace dsop::sparse
