// How much a model keeps, before it has memory for it.
#pragma once

#include <cstddef>

namespace dsop::learn {

/// Elements, of a layer or of all.
struct ModelSize {
  std::size_t weights = 0;
  std::size_t of_step = 0;  ///< layers' inputs and errors, of the samples of a step

  ModelSize& operator+=(const ModelSize& other) {
    weights += other.weights;
    of_step += other.of_step;
    return *this;
  }
};

}  // namespace dsop::learn
