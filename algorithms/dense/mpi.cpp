// The MPI library's own MPI_Allreduce: what programs call today, and so the base that everything is compared with.
// The cost is that of the algorithm that Open MPI 4.1's fixed rules take for so many ranks and bytes
// (coll_tuned_decision_fixed.c), by our formula for it; MPICH's rules differ for short vectors. It holds for one
// MPI_Allreduce, as long as nobody tunes the library. Of its MPI_Bcast and MPI_Reduce it is the bidirectional
// exchange's, whatever they take, of its MPI_Allgatherv the ring's.
#include <algorithm>
#include <limits>

#include "algorithms/dense/algorithm.hpp"
#include "algorithms/dense/allgather.hpp"
#include "patterns/hypercube.hpp"
#include "patterns/network.hpp"

namespace dsop::dense {

DenseAlgorithm butterfly();
DenseAlgorithm minimum_spanning_tree();
DenseAlgorithm rabenseifner();
DenseAlgorithm ring();
DenseAlgorithm broadcast_bidirectional_exchange();
DenseAlgorithm reduce_bidirectional_exchange();
AllgatherAlgorithm allgather_ring();

namespace {

// The first that holds is taken. Open MPI's ring in segments is given no length of a segment and so runs as its ring;
// its reduce, then broadcast of short vectors goes over trees.
struct Rule {
  int below_ranks;
  std::size_t below_bytes;
  DenseAlgorithm (*algorithm)();
};
constexpr int any_ranks = std::numeric_limits<int>::max();
constexpr std::size_t any_bytes = std::numeric_limits<std::size_t>::max();
constexpr Rule rules[] = {
    {4, 8, ring},
    {4, 4 << 10, butterfly},
    {4, 8 << 10, ring},
    {4, 16 << 10, butterfly},
    {4, 256 << 10, ring},
    {4, any_bytes, rabenseifner},
    {8, 16, ring},
    {16, 8 << 10, butterfly},
    {16, any_bytes, rabenseifner},
    {32, 64, ring},
    {32, 4 << 10, butterfly},
    {32, any_bytes, rabenseifner},
    {64, 128, ring},
    {64, any_bytes, rabenseifner},
    {128, 256 << 10, butterfly},
    {256, 128 << 10, minimum_spanning_tree},
    {256, 256 << 10, butterfly},
    {256, any_bytes, rabenseifner},
    {512, 4 << 10, minimum_spanning_tree},
    {512, any_bytes, rabenseifner},
    {any_ranks, 2 << 10, minimum_spanning_tree},
    {2048, 16 << 10, butterfly},
    {4096, 4 << 10, ring},
    {4096, 16 << 10, butterfly},
    {4096, any_bytes, rabenseifner},
    {any_ranks, 16 << 10, ring},
    {any_ranks, 32 << 10, butterfly},
    {any_ranks, any_bytes, rabenseifner},
};

template <class AnyProblem>
std::string unsupported(const AnyProblem& problem) {
  return problem.group.native ? "" : "runs inside the MPI library, and these ranks do not use MPI";
}

// All ranks' vectors to rank 0, one after the other, and the sum back.
Cost linear_cost(const DenseProblem& problem, const Machine& machine) {
  const auto others = static_cast<std::size_t>(problem.ranks - 1);
  Cost cost;
  cost.messages = others;
  cost.bytes = others * problem.elements * bytes_of(problem.type);
  cost.flops = static_cast<double>(others * problem.elements);
  const patterns::Network network(machine, problem.group.nodes, problem.ranks);
  patterns::Step to_rank_0(network, patterns::Partners::same);
  for (int r = 1; r < problem.ranks; ++r) to_rank_0.send(r, 0, problem.elements * bytes_of(problem.type));
  cost.communication_seconds = 2 * to_rank_0.seconds();
  cost.arithmetic_seconds = machine.addition_seconds(cost.flops, problem.type);
  return cost;
}

// The ring needs an element for each rank, Rabenseifner's one for each corner of the hypercube; else Open MPI takes
// recursive doubling in place of the one, its linear algorithm in place of the other.
Cost cost_by_rules(const DenseProblem& problem, const Machine& machine) {
  const std::size_t bytes = problem.elements * bytes_of(problem.type);
  const Rule& rule = *std::ranges::find_if(
      rules, [&](const Rule& r) { return problem.ranks < r.below_ranks && bytes < r.below_bytes; });
  const auto fewer_than = [&](int ranks) { return problem.elements < static_cast<std::size_t>(ranks); };
  if (rule.algorithm == ring && fewer_than(problem.ranks)) return butterfly().cost(problem, machine, 0);
  if (rule.algorithm == rabenseifner && fewer_than(patterns::Hypercube(0, problem.ranks).corners))
    return linear_cost(problem, machine);
  return rule.algorithm().cost(problem, machine, 0);
}

// The library's sums of f64 take as long as those of as many bytes in f32, but for the arithmetic.
Cost cost(const DenseProblem& problem, const Machine& machine, double) {
  Cost cost = cost_by_rules(problem, machine);
  const double measured = machine.native_seconds(problem.elements * bytes_of(problem.type), problem.ranks);
  if (measured > 0) {
    cost.communication_seconds = measured;
    cost.arithmetic_seconds = cost.hidden_seconds = 0;
  }
  return cost;
}

}  // namespace

DenseAlgorithm mpi() {
  return {.name = "mpi",
          .summary = "the MPI library's own MPI_Allreduce, the usual baseline",
          .source = "MPI standard, MPI_Allreduce",
          .native = true,
          .measured = true,
          .unsupported = unsupported,
          .cost = cost,
          .run = []<class T>(DenseCall<T>& call) {
            call.transport.native().allreduce(std::as_writable_bytes(call.data), data_type<T>);
          }};
}

DenseAlgorithm broadcast_mpi() {
  return {.name = "mpi",
          .summary = "the MPI library's own MPI_Bcast, the usual baseline",
          .source = "MPI standard, MPI_Bcast",
          .native = true,
          .unsupported = unsupported,
          .cost = broadcast_bidirectional_exchange().cost,
          .run = []<class T>(DenseCall<T>& call) {
            call.transport.native().broadcast(std::as_writable_bytes(call.data), call.root);
          }};
}

DenseAlgorithm reduce_mpi() {
  return {.name = "mpi",
          .summary = "the MPI library's own MPI_Reduce, the usual baseline",
          .source = "MPI standard, MPI_Reduce",
          .native = true,
          .unsupported = unsupported,
          .cost = reduce_bidirectional_exchange().cost,
          .run = []<class T>(DenseCall<T>& call) {
            call.transport.native().reduce(std::as_writable_bytes(call.data), data_type<T>, call.root);
          }};
}

AllgatherAlgorithm allgather_mpi() {
  const AllgatherAlgorithm ring = allgather_ring();
  return {.name = "mpi",
          .summary = "by the MPI library's own MPI_Allgatherv",
          .source = "MPI standard, MPI_Allgatherv",
          .native = true,
          .unsupported = unsupported,
          .sent = ring.sent,
          .seconds = ring.seconds,
          .run = [](AllgatherCall& call) { call.transport.native().allgather(call.data, call.problem.bounds_bytes); }};
}

}  // namespace dsop::dense
