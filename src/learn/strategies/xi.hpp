// What is lost by taking the largest of sums of largest: Li and Hoefler, "Near-Optimal Sparse Allreduce for Distributed
// Deep Learning" (PPoPP 2022), section 5.1.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <dsop/transport.hpp>

namespace dsop::learn {

/// A parameter's part in a step. The first two are this rank's and become their sums over all ranks.
struct XiPart {
  std::vector<float> gradient = {};
  std::vector<float> accumulated = {};  ///< the gradient and the residual from before the step, added
  std::span<const float> sum = {};      ///< that the step has given, with about k elements that are not zero
  std::size_t k = 0;
};

/// The paper's xi, of assumption 1, of all parts as one vector: || Topk(mean of accumulated) - sum's mean || / || mean
/// of gradients ||, means over ranks; NaN or infinity where no rank has a gradient. Topk is exact, of each part for
/// itself; the sum is what the algorithm chose, as in the paper. All ranks; the same on each. Cost: two dense
/// allreduces a part.
double xi(Transport& transport, std::map<std::string, XiPart>& parts);

}  // namespace dsop::learn
