// A perceptron that tells digits apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "learn/data/digits.hpp"
#include "learn/layers/activation.hpp"
#include "learn/tasks/task.hpp"

namespace dsop::learn {

struct MlpOptions {
  std::vector<std::size_t> hidden = {256};  ///< widths
  Activation activation = Activation::relu;
  std::uint64_t seed = 1;
};

/// Without `test` the last fifth of `digits` is held out. Throws ArgumentError if there are fewer samples than a step
/// takes, or if the two sets' pictures differ in size.
PlannedTask plan_digits_task(Digits digits, std::optional<Digits> test, const Share& share, const MlpOptions& options);

}  // namespace dsop::learn
