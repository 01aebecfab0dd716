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
  SparseSamples dealt = {};  ///< this rank's, of which deal_again() makes those of an epoch; a server's are none
  std::size_t steps = 0;     ///< of an epoch
  Batch test = {};           ///< this rank's part
};

/// Reads both files, each rank a part of each; where there are servers they keep no training data, but rank 0
/// the whole of the test. All ranks call it. Throws on all ranks if a file is bad, is longer on one rank than on
/// another, has fewer samples than ranks that compute, mixes labels -1 and 0, or has an index for whose weights a
/// host's memory is too small.
LinearData read_linear_data(Transport& transport, const LinearSettings& settings);

/// This rank's batches in an epoch, one a step: all samples are shuffled, and each mini-batch divided among the workers
/// (Renggli 2017, algorithm 1), so that mini-batches are the same for any number of workers, and a function of the seed
/// and the epoch. All ranks call it, and get theirs anew from the others. Where workers wait for nobody (async-ps) each
/// calls it alone, and shuffles its own samples: each mini-batch then has as many of them, but never those of another.
std::vector<Batch> batches_of_epoch(Transport& transport, const LinearData& data, const LinearSettings& settings,
                                    std::size_t epoch);

}  // namespace dsop::learn
