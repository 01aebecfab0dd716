// Split within groups, dense from there: Renggli, "SparCML: High-Performance Sparse Communication for Machine Learning"
// (2017), section 3.3.4 (early switching).
//
//   1. Split within groups of g ranks: each gets what the group holds of its region of N/g elements, and adds it as
//      dsar-split-allgather does.
//   2. Reduce-scatter by recursive halving among the P/g ranks, one a group, that have the same region: partners at
//      distance P/2g, ..., 1 swap the halves of what they still hold and add.
//   3. Dense allgather of all blocks of N/P elements, each at its place in the result.
//
// Fewer messages than a split among all ranks; any P of which g leaves a power of two, so g = P always. Ranks of the
// same region stand next to each other, so that blocks lie in the order of ranks. Cost, k elements of each rank: 2
// (g-1) messages, half of them lengths, log2 P/g and the allgather's; 2 k (g-1)/g words in step 1, N/g (1 - g/P) in
// step 2, N (P-1)/P in step 3.
#include "dense/halving_cost.hpp"
#include "patterns/recursive_halving.hpp"
#include "sparse/split.hpp"
#include "transport/subset.hpp"

namespace dsop::sparse {
namespace {

// Rank r has region r / groups, and of that block r % groups, the number of its group.
struct Shares {
  Shares(std::size_t elements, int ranks, double group)
      : groups(ranks / static_cast<int>(group)), regions(elements, static_cast<int>(group)) {}

  Blocks blocks(int region) const { return {regions.size(region), groups}; }
  std::size_t offset(int rank) const {
    return regions.offset(rank / groups) + blocks(rank / groups).offset(rank % groups);
  }

  int groups;
  Blocks regions;
};

template <class T>
void run(SparseCall<T>& call) {
  const SparseProblem& problem = call.plan.problem;
  const int P = call.transport.size();
  const auto g = static_cast<int>(call.plan.parameter);
  const Shares shares(problem.elements, P, g);
  const int position = call.transport.rank() / shares.groups;
  const int group = call.transport.rank() % shares.groups;
  const std::span<T> result = call.result.first(problem.elements);
  const std::span<T> x = shares.regions.of(result, position);

  Subset members(call.transport, position, g, [&](int i) { return i * shares.groups + group; });
  RunningSum<T> own_region(x.size(), 0, x, {});
  split(members, problem, call.own, Room(call.workspace), own_region);

  Subset peers(call.transport, group, shares.groups, [&](int i) { return position * shares.groups + i; });
  patterns::recursive_halving(peers, shares.groups, shares.blocks(position), x, Room(call.workspace).take<T>(x.size()));

  for (int q = 0; q < P; ++q) call.blocks.bounds_bytes[static_cast<std::size_t>(q)] = shares.offset(q) * sizeof(T);
  call.blocks.bounds_bytes.back() = result.size_bytes();
  AllgatherCall exchange{call.transport, std::as_writable_bytes(result), call.blocks};
  call.plan.exchange->run(exchange);
  call.sum = {result.size(), {}, result};
}

AllgatherProblem blocks(const SparseProblem& problem, double group) {
  const Shares shares(problem.elements, problem.ranks(), group);
  AllgatherProblem blocks{{}, problem.native_collectives};
  for (int q = 0; q < problem.ranks(); ++q) blocks.bounds_bytes.push_back(shares.offset(q) * bytes_of(problem.type));
  blocks.bounds_bytes.push_back(problem.elements * bytes_of(problem.type));
  return blocks;
}

Cost cost(const SparseAlgorithm&, const SparseProblem& problem, const Machine& machine, double group) {
  const Shares shares(problem.elements, problem.ranks(), group);
  const AllgatherProblem all = blocks(problem, group);
  const AllgatherAlgorithm& exchange = cheapest_allgather(all, machine);
  const dense::HalvingCost halving{shares.blocks(0), shares.groups, bytes_of(problem.type)};
  Cost after;
  for (int r = 0; r < problem.ranks(); ++r) after.raise_to(exchange.sent(all, r) + halving.sent(r % shares.groups));
  after.communication_seconds = exchange.seconds(all, machine) + halving.communication_seconds(machine);
  after.flops = halving.additions();
  after.arithmetic_seconds =
      machine.addition_seconds(after.flops, problem.type) +
      machine.memory_seconds(static_cast<double>(shares.regions.largest() * bytes_of(problem.type)));
  return one_after_the_other(split_cost(problem, machine, static_cast<int>(group)), after);
}

std::vector<double> values(const SparseAlgorithm&, const SparseProblem& problem) {
  std::vector<double> groups{static_cast<double>(problem.ranks())};
  for (int g = problem.ranks(); g % 2 == 0 && g > 2; g /= 2) groups.push_back(g / 2);
  return groups;
}

std::string expected(double group, const SparseAlgorithm& self, const SparseProblem& problem) {
  for (const double g : values(self, problem))
    if (group == g) return "";
  return "two or more ranks a group that make the number of groups a power of two, of " +
         std::to_string(problem.ranks()) + " ranks";
}

}  // namespace

SparseAlgorithm dsar_early_switch() {
  return {.name = "dsar-early-switch",
          .summary = "the same within groups, then recursive halving between them; fewer messages",
          .source = "Renggli 2017 (SparCML), section 3.3.4",
          .makes_dense = true,
          .parameter = {.name = "ranks a group", .values = values, .expected = expected},
          .cost = cost,
          .blocks = blocks,
          .workspace_bytes =
              [](const SparseAlgorithm&, const SparseProblem& problem, double group) {
                const auto g = static_cast<int>(group);
                return std::max(split_bytes(problem, g), region_bytes(problem, g));
              },
          .run = {run<float>, run<double>}};
}

}  // namespace dsop::sparse
