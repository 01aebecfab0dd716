// What tasks ask of all ranks.
#pragma once

#include <span>
#include <vector>

#include <dsop/transport.hpp>

#include "learn/tasks/task.hpp"

namespace dsop::learn {

/// Sums of all ranks' numbers, as many on each, in the order of ranks. All ranks must call it.
std::vector<double> sums_over_ranks(Transport& transport, std::span<const double> own);

/// Throws ArgumentError on every rank if the training set has fewer samples than a step of all ranks takes.
void check_samples(std::size_t samples, const Share& share);

}  // namespace dsop::learn
