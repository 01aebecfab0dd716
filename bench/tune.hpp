// dsop-bench tune: a machine description with the algorithms that were measured to be the fastest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/transport.hpp>

#include "contenders.hpp"
#include "timing.hpp"

namespace dsop::bench {

struct TuneOptions {
  std::vector<Point> points;
  DataType type = DataType::f32;
  Protocol protocol;
  std::optional<Machine> machine;  ///< to start from; none: calibrated first
  std::string out;                 ///< file to write
};

/// Measures at each shape, in turns, the algorithms predicted to take at most `tune_factor` times as long as the
/// fastest, and those that run inside the MPI library, whose prediction is a guess. Makes the one of the least median
/// the shape's winner, in place of one that the machine had. Prints a table on stdout, as rank 0, and writes the
/// machine: before the first shape, so that a path that can't be written is told before shapes are measured, and after
/// each, so that an interruption loses no winner. A folder that is not there is told at once. All ranks must call it.
void tune(Transport& transport, const TuneOptions& options);

}  // namespace dsop::bench
