// Samples that ranks have read, dealt out in one order that is the same for any number of ranks.
#pragma once

#include <cstdint>

#include <dsop/transport.hpp>

#include "learn/data/libsvm.hpp"

namespace dsop::learn {

/// The ranks that compute: `first` and those after it.
struct Workers {
  int first = 0;
  int count = 1;
};

/// All ranks' samples, in the order of ranks, are shuffled by `seed`; worker v of W gets those at the places v, v + W,
/// v + 2 W, ..., in that order, the other ranks none. So W samples b ... b + W of the places are one of each worker,
/// and batches of places are the same samples for any number of workers. All ranks call it. Cost: each sample is sent
/// once, in 8 bytes an element and 24; messages 2 (P - 1).
SparseSamples deal(Transport& transport, const SparseSamples& own, Workers workers, std::uint64_t seed);

/// The samples that deal() has dealt, shuffled for an epoch, from 1, and dealt again in the same way: a permutation of
/// all, the same for any number of workers. All ranks call it; cost as deal()'s, most samples change hands.
SparseSamples deal_again(Transport& transport, const SparseSamples& dealt, Workers workers, std::uint64_t seed,
                         std::size_t epoch);

/// This worker's own samples alone, shuffled for an epoch. Of one worker it gives what deal_again() does.
SparseSamples shuffle(const SparseSamples& dealt, std::uint64_t seed, std::size_t epoch);

}  // namespace dsop::learn
