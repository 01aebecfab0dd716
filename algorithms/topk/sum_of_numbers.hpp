// A few whole numbers, added over all ranks.
#pragma once

#include <cstddef>
#include <span>

#include "algorithms/dense/algorithm.hpp"

namespace dsop::topk {

/// Numbers of which all ranks get the sums: exactly, below 2^53.
struct SumOfNumbers {
  SumOfNumbers(Arena& arena, std::size_t count, int ranks)
      : numbers(arena.take<double>(count)),
        workspace(arena.take<std::byte>(butterfly().workspace_bytes({count, ranks, DataType::f64}, 0))) {}

  /// On all ranks.
  void run(Transport& transport) const {
    Arena memory(workspace);
    DenseCall<double> call{transport, numbers, memory, 0};
    butterfly().run(call);
  }

  std::span<double> numbers;
  std::span<std::byte> workspace;

 private:
  static const DenseAlgorithm& butterfly() {
    static const DenseAlgorithm& algorithm = *dense_algorithms().find("butterfly");
    return algorithm;
  }
};

}  // namespace dsop::topk
