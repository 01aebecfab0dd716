#include "algorithms/dense/allgather.hpp"

namespace dsop {

namespace dense {
AllgatherAlgorithm allgather_ring();
AllgatherAlgorithm allgather_neighbor();
AllgatherAlgorithm allgather_bruck();
AllgatherAlgorithm allgather_recursive_doubling();
AllgatherAlgorithm allgather_mpi();
}  // namespace dense

const Registry<AllgatherAlgorithm>& allgather_algorithms() {
  static const Registry<AllgatherAlgorithm> registry({
      dense::allgather_ring(),
      dense::allgather_neighbor(),
      dense::allgather_bruck(),
      dense::allgather_recursive_doubling(),
      dense::allgather_mpi(),
  });
  return registry;
}

const AllgatherAlgorithm& cheapest_allgather(const AllgatherProblem& problem, const Machine& machine) {
  const AllgatherAlgorithm* cheapest = nullptr;
  double least_seconds = 0;
  for (const AllgatherAlgorithm& algorithm : allgather_algorithms()) {
    if (algorithm.native || !algorithm.unsupported(problem).empty()) continue;
    const double seconds = algorithm.seconds(problem, machine);
    if (cheapest != nullptr && least_seconds <= seconds) continue;
    cheapest = &algorithm;
    least_seconds = seconds;
  }
  return *cheapest;
}

}  // namespace dsop
