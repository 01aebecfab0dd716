// One shape, several algorithms: verified, counted, and timed in turns.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dsop/counting.hpp>
#include <dsop/dsop.hpp>

namespace dsop::bench {

struct Point {
  std::size_t rows;
  std::size_t columns;
  std::size_t pairs;  // of each rank
};

/// A row of the table.
struct Measurement {
  std::string algorithm;  ///< as asked for: may be "auto"
  Plan plan;
  Traffic busiest;                           ///< the largest numbers over ranks; of no use for a native algorithm
  std::optional<std::size_t> wrong;          ///< elements, over all ranks; none if not verified
  std::vector<std::vector<double>> seconds;  ///< by iteration, by rank

  /// Each iteration's time: that of its slowest rank.
  std::vector<double> iteration_seconds() const;
};

struct Protocol {
  int iterations = 20;
  bool verify = false;
  std::optional<Machine> machine;
  std::function<void(const std::string& algorithm, int iteration)> progress;
};

/// All ranks call it and all get the measurements, in the order of `algorithms`.
template <class T>
std::vector<Measurement> measure(Transport& transport, const Point& point, const std::vector<std::string>& algorithms,
                                 const Protocol& protocol);

}  // namespace dsop::bench
