// Stochastic gradient descent of a linear model over several ranks.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include <dsop/errors.hpp>
#include <dsop/sparse.hpp>
#include <dsop/transport.hpp>

#include "learn/linear/data.hpp"
#include "learn/linear/epoch_log.hpp"

namespace dsop::learn {

/// Reads the data and trains; all ranks call it. Rank 0 writes rows to `table` and settings.out. Throws where
/// read_linear_data() does, and if a gradient, or at an epoch's end a loss or weights, are no longer finite, naming
/// where; on all ranks.
void train_linear(Transport& transport, const LinearSettings& settings, std::ostream& table);

/// Every rank has the weights, gradients are summed by a sparse allreduce, and every rank makes the same step. The
/// weights have the same bits on every rank.
void train_by_allreduce(Transport& transport, const LinearSettings& settings, const LinearData& data, EpochLog& log,
                        double reading_seconds);

/// Ranks 0 .. S - 1 share the weights by range (Renggli 2017, section 4.2.2). In each step a worker asks each for those
/// that its batch needs, and sends the gradient's elements at the same places. With "ps:S" a server answers when all
/// workers have asked, and makes one step of all gradients, in the order of ranks: the same bits for any S. With
/// "async-ps:S" it answers and makes a step of each gradient as they come, so that a worker never waits for another;
/// results then differ from run to run. A gradient is divided by the samples of the whole mini-batch either way, so an
/// epoch moves the weights as far.
void train_by_servers(Transport& transport, const LinearSettings& settings, const LinearData& data, EpochLog& log,
                      double reading_seconds);

/// A worker's gradient of its batch by the threads of `settings`; `factor` is what the sum will be multiplied by.
/// Returns the sum of the samples' losses.
double own_gradient(const LinearSettings& settings, const Batch& batch, std::span<float> own_weights, double factor,
                    std::vector<float>& gradient);

/// weights = (1 - decay) weights - factor gradient.
void update(std::span<float> weights, const SparseVectorView<float>& gradient, double factor, double decay);

/// For messages.
std::string loss_not_finite(std::size_t epoch, std::size_t step, const LinearSettings& settings);

/// Throws Error naming the epoch unless its weights and all ranks' losses are finite: a score that is infinite may have
/// a finite slope, so that gradients do not show all.
void check_epoch(std::size_t epoch, std::span<const EpochPart> parts, std::span<const float> weights,
                 const LinearSettings& settings);

double sum_of_squares(std::span<const float> weights);

}  // namespace dsop::learn
