// What selections work in, kept from call to call.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/magnitude.hpp"
#include "memory/workspace.hpp"
#include "sparse/vector.hpp"

namespace dsop::selection {

template <class T>
struct Memory {
  Workspace<kernels::Key<T>> keys;         ///< of candidates for the k-th largest
  Workspace<std::size_t> counts;           ///< by thread
  Workspace<sparse::Index> piece_indices;  ///< what all threads but the first have chosen
  Workspace<T> piece_values;
  std::vector<Memory> of_threads;  ///< of selections that are made side by side
};

}  // namespace dsop::selection
