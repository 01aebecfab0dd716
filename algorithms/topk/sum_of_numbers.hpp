// A few whole numbers, added over all ranks.
#pragma once

#include <cstddef>
#include <span>

#include "algorithms/dense/algorithm.hpp"
#include "sparse/room.hpp"

namespace dsop::topk {

/// How the sum of all ranks' numbers is made: exactly, below 2^53.
class SumOfNumbers {
 public:
  SumOfNumbers(std::size_t numbers, int ranks)
      : problem_{numbers, ranks, DataType::f64}, workspace_elements_(algorithm_.workspace_elements(problem_, 0)) {}

  std::size_t bytes() const { return sparse::Room::bytes<double>(workspace_elements_); }
  /// On all ranks. Takes bytes() of `room`.
  void run(Transport& transport, std::span<double> numbers, sparse::Room room) const {
    DenseCall<double> call{transport, numbers, room.take<double>(workspace_elements_), 0};
    algorithm_.run(call);
  }

 private:
  const DenseAlgorithm& algorithm_ = *dense_algorithms().find("butterfly");
  DenseProblem problem_;
  std::size_t workspace_elements_;
};

}  // namespace dsop::topk
