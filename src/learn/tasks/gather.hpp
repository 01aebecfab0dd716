// A few numbers of every rank, on every rank.
#pragma once

#include <span>
#include <vector>

#include <dsop/transport.hpp>

#include "learn/layers/matrix.hpp"
#include "learn/tasks/task.hpp"

namespace dsop::learn {

/// Row r of the result are rank r's numbers, as many on each. All ranks must call it.
Matrix<double> numbers_of_all(Transport& transport, std::span<const double> own);

/// Their sums, in the order of ranks.
std::vector<double> sums_over_ranks(Transport& transport, std::span<const double> own);

/// Throws ArgumentError on every rank if the training set has fewer samples than a step of all ranks takes.
void check_samples(std::size_t samples, const Share& share);

}  // namespace dsop::learn
