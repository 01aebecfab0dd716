// Where the k-th largest is, settled bit by bit: for vectors of many alike, whose samples say too little.
#pragma once

#include <cstddef>
#include <span>

#include "algorithms/selection/memory.hpp"
#include "kernels/magnitude.hpp"

namespace dsop::selection {

/// Where the k-th largest lies.
template <class T>
struct Neighbourhood {
  kernels::KeyRange<T> range = {};
  unsigned bits = kernels::key_bits<T>;  ///< of a key that the range leaves open
  std::size_t inside;                    ///< elements in the range
  std::size_t above = 0;
};

/// The memory's counts that narrow() takes for so many values.
std::size_t counts_for(std::size_t values);

/// Settles up to twelve more bits of the key of the k-th largest. Cost: a read of all values.
template <class T>
void narrow(std::span<const T> values, std::size_t k, Neighbourhood<T>& near, Memory<T>& memory);

}  // namespace dsop::selection
