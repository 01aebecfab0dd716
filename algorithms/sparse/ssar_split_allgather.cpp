// Split and sparse allgather: Renggli, "Efficient Sparse AllReduce For Scalable Machine Learning" (2017),
// section 3.3 (SSAR_Split_allgather).
//
//   1. Split: every rank gets what all hold of its region of N/P elements, and adds it in the order of ranks, from its
//      own on and round, while later parts travel.
//   2. Sparse allgather: everybody gets the sums of all regions, as many bytes of each as there are.
//
//   ssar-split-allgather  a region's sum is dense where its parts together are larger than that
//   topk-dsa              every rank looks which form of its sum is smaller: what it holds decides, not what its parts
//                         could have held. So SparCML's dynamic sparse allreduce is a rival of Ok-Topk: "TopkDSA" in Li
//                         and Hoefler, "Near-Optimal Sparse Allreduce for Distributed Deep Learning" (2022), section 2
//
// Cost, k elements of each rank: P - 1 messages, log2 P with lengths and the allgather's; 2 k (P-1)/P words in step 1,
// and in step 2 as many if all indices are the same, 2 k (P-1) if none are, with topk-dsa N (P-1)/P at most.
#include <bit>
#include <numeric>

#include "algorithms/sparse/split.hpp"
#include "patterns/bruck_allgather.hpp"
#include "patterns/steps.hpp"

namespace dsop::sparse {
namespace {

/// Whether all pairs of index and value together are so few that no region becomes dense.
bool stays_sparse(const SparseProblem& problem) {
  const std::size_t smallest = problem.elements / problem.nonzeros.size();
  const std::size_t most = most_summed(problem, smallest);
  return most > 0 && problem.total_nonzeros() <= most;
}

std::size_t most_gathered_bytes(const SparseProblem& problem) {
  return packed_parts_bytes(problem.elements, stays_sparse(problem) ? problem.total_nonzeros() : Sparsity::dense,
                            problem.type, problem.wire, problem.ranks());
}

std::size_t most_widened(const SparseProblem& problem) {
  return widened_elements(problem, stays_sparse(problem) ? problem.total_nonzeros() : problem.elements);
}

template <class T>
struct GatherRegionsMemory {
  GatherRegionsMemory(Arena& arena, const SparseProblem& problem)
      : parts(arena.take<SparseVectorView<T>>(problem.nonzeros.size())),
        lengths(arena.take<std::size_t>(problem.nonzeros.size())),
        gathered(arena.take<std::byte>(most_gathered_bytes(problem))),
        widened(arena.take<T>(most_widened(problem))) {}
  std::span<SparseVectorView<T>> parts;
  std::span<std::size_t> lengths;
  std::span<std::byte> gathered;
  std::span<T> widened;
};

/// Memory for the sum of a region, in elements: for all of it, or for all pairs where it stays sparse.
std::size_t region_sum_elements(const SparseProblem& problem) {
  if (!stays_sparse(problem)) return largest_region(problem, problem.ranks());
  return values_for_pairs(problem.total_nonzeros(), problem.type);
}

/// Of an algorithm that splits, sums its region and gathers the sums.
template <class T>
struct SplitAndGatherMemory {
  SplitAndGatherMemory(Arena& arena, const SparseProblem& problem, double = 0)
      : sum(arena.take<T>(region_sum_elements(problem))),
        other_sum(arena.take<T>(region_sum_elements(problem))),
        phase(arena.mark()),
        split(arena, split_of(problem, problem.ranks(), problem.largest_nonzeros())),
        gather(arena.rewind(phase), problem) {}
  std::span<T> sum;  ///< of the own region, made in the two by turns: sparse where its parts together are no larger
                     ///< and no slower to add so
  std::span<T> other_sum;
  std::size_t phase;  ///< where the memory of each phase begins that follows
  SplitMemory<T> split;
  GatherRegionsMemory<T> gather;
};

/// Makes the call's sum of all ranks' regions, each in whichever form it has.
template <class T>
void gather_regions(SparseCall<T>& call, const SparseVectorView<T>& own_region, GatherRegionsMemory<T> memory) {
  const SparseProblem& problem = call.plan.problem;
  const int P = call.transport.size();
  const Blocks regions(call.own.dimension, P);
  const auto from_its_first = [&](int q) { return Region{0, regions.size(q)}; };
  auto& [parts, lengths, gathered, widened] = memory;

  const int r = call.transport.rank();
  lengths[static_cast<std::size_t>(r)] = packed_bytes(own_region, from_its_first(r), problem.wire);
  patterns::bruck_allgather(call.transport, lengths, Tag::payload);
  AllgatherProblem& blocks = call.exchange.problem;
  std::partial_sum(lengths.begin(), lengths.end(), blocks.bounds_bytes.begin() + 1);
  if (blocks.total_bytes() > gathered.size()) refuse_length(blocks.total_bytes(), gathered.size());

  AllgatherCall gather{call.transport, gathered.first(blocks.total_bytes()), blocks};
  pack(own_region, from_its_first(r), gather.blocks(r), problem.wire);
  call.exchange.algorithm->run(gather);
  for (int q = 0; q < P; ++q)
    parts[static_cast<std::size_t>(q)] = unpack<T>(gather.blocks(q), from_its_first(q), problem.wire, widened);
  call.sum = concatenate<T>(parts, call.result);
}

/// Of regions that have so many elements each, or Sparsity::dense.
AllgatherProblem region_blocks(const SparseProblem& problem, std::size_t elements) {
  const std::size_t bytes = packed_bytes(problem, largest_region(problem, problem.ranks()), elements);
  return blocks_of(problem.group, problem.ranks(), [&](int) { return bytes; });
}

/// ceil(log2 P) messages with lengths, and the allgather of such regions.
Cost gather_regions_cost(const SparsePlan& plan, const Machine& machine, std::size_t elements) {
  const SparseProblem& problem = plan.problem;
  const int P = problem.ranks();
  Cost cost = cost_of(plan.exchange, machine);
  cost.messages += static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(P - 1)));
  cost.bytes += static_cast<std::size_t>(P - 1) * length_bytes;
  cost.communication_seconds =
      patterns::bruck_seconds(network_of(problem, machine), length_bytes) + cost.communication_seconds;
  const double each = stored(elements, largest_region(problem, P));
  const auto gathered_bytes = static_cast<double>(plan.exchange.problem.total_bytes());
  cost.arithmetic_seconds = machine.memory_seconds(4 * gathered_bytes) +  // copied twice
                            conversion_seconds(problem, machine, each, P * each);
  return cost;
}

enum class Form : unsigned char { of_parts, smaller };

// Elements of a region's sum, as expected: dense where the parts may be too many, whatever they have in common.
template <Form form>
std::size_t expected_elements(const SparseProblem& problem) {
  const std::size_t region = largest_region(problem, problem.ranks());
  const std::size_t part = expected_part(problem, problem.ranks());
  const bool sparse = form == Form::smaller || problem.nonzeros.size() * part <= most_summed(problem, region);
  return sparse ? expected_in_region(problem) : Sparsity::dense;
}

template <class T>
SparseVectorView<T> smaller_form(const SparseVectorView<T>& x, std::span<T> memory) {
  const std::size_t count = x.dense() ? count_nonzeros(x.values) : 0;
  if (!x.dense() || count > most_indices<T>(x.dimension)) return x;
  return compress(x.values, reinterpret_cast<Index*>(memory.data() + count), memory.data());
}

template <Form form, class T>
void run(SparseCall<T>& call) {
  const SparseProblem& problem = call.plan.problem;
  const SplitAndGatherMemory<T> memory(call.memory, problem);
  const std::size_t size = Blocks(problem.elements, problem.ranks()).size(call.transport.rank());
  RunningSum<T> own_region(size, most_summed(problem, size), memory.sum, memory.other_sum);
  split(call.transport, problem, call.own, memory.split, own_region);
  const SparseVectorView<T>& sum = own_region.sum();
  gather_regions(call, form == Form::smaller ? smaller_form(sum, own_region.other()) : sum, memory.gather);
}

template <Form form>
SparseAlgorithm split_allgather(std::string name, std::string summary, std::string source) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .source = std::move(source),
          .sends_bf16 = true,
          .exchange = [](const SparseProblem& problem,
                         double) { return region_blocks(problem, expected_elements<form>(problem)); },
          .cost =
              [](const SparsePlan& plan, const Machine& machine) {
                return one_after_the_other(split_cost(plan.problem, machine),
                                           gather_regions_cost(plan, machine, expected_elements<form>(plan.problem)));
              },
          .workspace_bytes = counted<SplitAndGatherMemory>,
          .run = [](auto& call) { run<form>(call); }};
}

}  // namespace

SparseAlgorithm ssar_split_allgather() {
  return split_allgather<Form::of_parts>(
      "ssar-split-allgather", "everybody sums a region, then sparse allgather of the sums; for sums that stay sparse",
      "Renggli 2017 (SparCML), section 3.3");
}

SparseAlgorithm topk_dsa() {
  return split_allgather<Form::smaller>(
      "topk-dsa", "everybody sums a region, then allgather of each sum in the form that turns out smaller",
      "Li and Hoefler 2022 (Ok-Topk), TopkDSA; Renggli 2017 (SparCML), section 3.3");
}

}  // namespace dsop::sparse
