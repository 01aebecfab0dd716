// dsop-bench outer-product: every algorithm on the same factors, in one run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/transport.hpp>

#include "measure.hpp"
#include "timing.hpp"

namespace dsop::bench {

struct OuterProductOptions {
  std::vector<Point> points;
  std::vector<std::string> algorithms;  ///< names, "auto", "sharded", or words that stand for several
  DataType type = DataType::f32;
  Wire wire = Wire::full;
  Protocol protocol;
  bool verify = false;
  std::string out;  ///< JSON lines are appended to it; empty: none
  std::optional<Machine> machine;
  Densities densities;
  std::vector<Encoding> encodings = {Encoding::dense};
};

/// Measures every combination and prints a table on stdout, as rank 0. A row's time is the median over iterations of
/// the largest time over ranks; the algorithms of a shape take turns, iteration by iteration, so that a disturbance
/// hits all of them. With verify, factors are whole numbers and every element on every rank is compared with a plain
/// sum.
void benchmark_outer_product(Transport& transport, const OuterProductOptions& options);

}  // namespace dsop::bench
