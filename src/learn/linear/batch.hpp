// Samples that are computed together, and the weights that they need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "learn/data/libsvm.hpp"
#include "learn/linear/loss.hpp"

namespace dsop::learn {

/// A rank's part of a mini-batch. Its gradient has values at the union of its samples' features and nowhere else, and
/// it is computed with the weights of these alone, so both are short vectors, an element for each of `columns`.
struct Batch {
  std::vector<std::uint32_t> columns = {};  ///< the features, rising
  SparseSamples rows = {};                  ///< an index is a place in `columns`
  std::size_t all_samples = 0;              ///< of all ranks' parts of the mini-batch
};

/// Of the samples first .. last - 1.
Batch make_batch(const SparseSamples& samples, std::size_t first, std::size_t last);

/// A dense vector's elements at `columns`; 0 for a column beyond its end.
void gather(std::span<const float> weights, std::span<const std::uint32_t> columns, std::vector<float>& own);

struct Evaluation {
  double loss = 0;     ///< sum over the samples
  double correct = 0;  ///< samples whose score has the label's sign
};

Evaluation evaluate(const Batch& batch, const LinearLoss& loss, std::span<const float> own_weights);

/// Sets `gradient` to the sum over the samples of slope times sample, and returns the sum of their losses. Each of
/// `threads` makes the gradient of its share of the samples, and these are added in the order of threads (Renggli 2017,
/// section 4.2.1): the same bits in every run, others for another number of threads.
double compute_gradient(const Batch& batch, const LinearLoss& loss, std::span<const float> own_weights, int threads,
                        std::vector<float>& gradient);

/// The same by Hogwild (Recht et al. 2011): threads share the samples, one gradient and the weights, and each moves the
/// weights by -`step` times a sample's part of the gradient at once, without locks, so that the next samples see it.
/// Sums then depend on which thread was first, some may be lost, and `own_weights` are left moved.
double compute_gradient_by_hogwild(const Batch& batch, const LinearLoss& loss, std::span<float> own_weights,
                                   double step, int threads, std::vector<float>& gradient);

}  // namespace dsop::learn
