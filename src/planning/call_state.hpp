// What a communicator remembers between calls.
#pragma once

#include <cstdint>

#include "planning/executor.hpp"

namespace dsop {

struct CallState {
  std::uint64_t calls = 0;  ///< so far
  Executor<float> f32;      ///< dsop()'s own plan and buffers
  Executor<double> f64;
};

}  // namespace dsop
