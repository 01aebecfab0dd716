// What an outer-product algorithm is to dsop, and which there are.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <dsop/plan.hpp>
#include <dsop/transport.hpp>
#include <dsop/views.hpp>

#include "dense/algorithm.hpp"
#include "model/registry.hpp"

namespace dsop {

/// One rank's part in G = scale * sum over ranks of A_r^T B_r. Arguments have been checked on all ranks.
template <class T>
struct OuterProductCall {
  Transport& transport;
  const Plan& plan;
  Factors<T> own;          ///< A_r, B_r
  MatrixView<T> gradient;  ///< G; without gaps and to be overwritten where the algorithm sends_gradient
  T scale;
  bool accumulate;
  std::span<T> workspace;  ///< exactly workspace_elements()
};

struct OuterProductAlgorithm {
  std::string name;
  std::string summary;
  std::string source;
  const DenseAlgorithm* dense = nullptr;  ///< of the allreduce-* family: how G is summed
  bool sends_gradient = true;             ///< parts of G travel, so a G with gaps, or to be added to, is made aside
  std::string (*unsupported)(const OuterProductAlgorithm&, const Problem&) =
      [](const OuterProductAlgorithm&, const Problem&) { return std::string(); };
  Cost (*cost)(const OuterProductAlgorithm&, const Problem&, const Machine&);
  std::size_t (*workspace_elements)(const OuterProductAlgorithm&, const Problem&);
  TypedRun<OuterProductCall> run;
};

const Registry<OuterProductAlgorithm>& outer_product_algorithms();

}  // namespace dsop
