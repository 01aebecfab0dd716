// One shape, several contenders: verified, counted, and timed in turns.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dsop/counting.hpp>
#include <dsop/dsop.hpp>
#include <dsop/plan.hpp>
#include <dsop/views.hpp>

#include "inputs.hpp"
#include "timing.hpp"

namespace dsop::bench {

struct Point {
  std::size_t rows;
  std::size_t columns;
  std::size_t pairs;  // of each rank
  Densities densities = {};
};

/// How factors are handed over: as matrices, as matrices in which zeros are looked for, or without their zeros.
enum class Encoding { dense, find_zeros, sparse };

constexpr const char* name(Encoding encoding) {
  if (encoding == Encoding::dense) return "dense";
  return encoding == Encoding::sparse ? "sparse" : "find-zeros";
}

/// What an OuterProduct is told of a point whose factors are handed over like this.
Shape shape_of(const Point& point, Encoding encoding);

/// What is measured: dsop's algorithms, "auto", "auto-probed", "sharded", or rivals, the last two dense alone.
struct EncodedAlgorithm {
  std::string algorithm;
  Encoding encoding = Encoding::dense;

  bool operator==(const EncodedAlgorithm&) const = default;
};

/// The name by which OuterProduct::run_sharded is measured beside algorithms.
inline const std::string sharded = "sharded";

/// The name of `auto` without a machine: it plans for the one that the communicator is measured to be.
inline const std::string auto_probed = "auto-probed";

/// A row of the table. All ranks have the same.
struct Measurement {
  std::string algorithm;  ///< as asked for: may be "auto", "auto-probed" or "sharded"; with encoding and wire, if not
                          ///< dense and full
  Problem problem = {};
  std::string used = {};                      ///< what ran
  double flops = 0;                           ///< the busiest rank's; a rival's: of its products
  std::optional<Plan> plan = {};              ///< none for a rival
  std::optional<Traffic> busiest = {};        ///< the largest numbers over ranks; none if messages can't be counted
  std::optional<double> probed_seconds = {};  ///< predicted for the measured machine, where auto_probed is asked for
  std::vector<std::size_t> wire_bytes_per_host = {};  ///< sent in one call, on the emulated cluster; else empty
  std::optional<std::size_t> wrong = {};              ///< elements, over all ranks; none if not verified
  Samples samples = {};
  Densities densities = {};
  Encoding encoding = Encoding::dense;
};

struct MeasureOptions {
  bool verify = false;
  std::optional<Machine> machine;
  Protocol protocol;
  Wire wire = Wire::full;
  std::function<void(const std::string& what)> progress;
};

/// All ranks call it and all get the measurements, in the order of `asked`.
template <class T>
std::vector<Measurement> measure(Transport& transport, const Point& point, const std::vector<EncodedAlgorithm>& asked,
                                 const MeasureOptions& options);

}  // namespace dsop::bench
