// The data of a linear model, as each rank has them.
#pragma once

#include <cstdint>
#include <vector>

#include <dsop/transport.hpp>

#include "learn/linear/batch.hpp"
#include "learn/linear/deal.hpp"
#include "learn/linear/settings.hpp"

namespace dsop::learn {

struct LinearData {
  Workers workers = {};
  std::size_t samples = 0;   ///< of all ranks
  std::size_t features = 0;  ///< the largest index that occurs in training, counted from 1
  std::uint64_t hash = 0;    ///< of the training data
  std::size_t test_samples = 0;
  std::vector<Batch> batches = {};  ///< one a step, equally many on every rank; those of a server are empty
  Batch test = {};                  ///< this rank's part
};

/// Reads both files, each rank a part of each; where there is a server (rank 0), it keeps no training data but the
/// whole of the test. All ranks call it. Throws on all ranks if a file is bad, is longer on one rank than on another,
/// has fewer samples than ranks that compute, mixes labels -1 and 0, or has an index for whose weights a host's memory
/// is too small.
LinearData read_linear_data(Transport& transport, const LinearSettings& settings);

/// The order of the steps in an epoch, the same on every rank.
std::vector<std::size_t> step_order(const LinearData& data, const LinearSettings& settings, std::size_t epoch);

}  // namespace dsop::learn
