// Which algorithms the words of a command line mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dsop/dsop.hpp>
#include <dsop/machine.hpp>
#include <dsop/plan.hpp>
#include <dsop/transport.hpp>

#include "inputs.hpp"

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

/// The word for the algorithms whose predicted time is within `near_factor` of the best prediction, shape by shape and
/// encoding by encoding, for the machine that is planned for, or for the one that `auto` plans for where none is given.
inline const std::string near = "near";
constexpr double near_factor = 2.5;

/// The word for the algorithms that `auto` may take, as it prefers them on the machine that is planned for, but those
/// predicted to take more than so many times the least: a simulation of them would take hours.
inline const std::string eligible = "eligible";
constexpr double eligible_factor = 4;

/// An algorithm's name, without the parameter that its text may end with.
std::string without_parameter(const std::string& text);

/// Whether G alone travels.
bool is_dense(const std::string& algorithm);

/// The MPI library's own sum, as it comes.
inline const std::string mpi_allreduce = "allreduce-mpi";

/// How calls are made: rivals, and what the words "auto-probed" and "sharded" stand for, can't be started.
enum class Calls : unsigned char { whole, started };

/// "all" and "external" become the names of those that can run here; for the others, rank 0 says why not. "near" and
/// "eligible" stay. Where whole calls are made, and nothing of what is named is dense or is chosen by shape, the ring
/// in segments (of bf16 the plain one) and MPI's own sum come last, to compare with; not in a simulation, where they
/// would take long. Throws ArgumentError for a name that is unknown, listing those that `calls` allow, or that can't
/// run here. All ranks must call it.
std::vector<std::string> expand_algorithms(Transport& transport, const std::vector<std::string>& names,
                                           Wire wire = Wire::full, Calls calls = Calls::whole);

/// The plan for factors of this shape, over this transport. All ranks must call it, and get the same.
Plan predict(Transport& transport, const Point& point, DataType type, Wire wire, const std::optional<Machine>& machine,
             Encoding encoding = Encoding::dense);

/// The names of the candidates that are predicted to take at most `factor` times as long as the fastest of those that
/// do not run inside the MPI library; fastest first, those last that do.
std::vector<std::string> near_the_best(const Plan& plan, double factor);

/// What "eligible" stands for: of those inside the MPI library and the published ones none, and of names that stand for
/// the same code (an allgather over the cheapest pattern, and over that pattern) the first.
std::vector<std::string> eligible_names(const Plan& plan);

/// Each name in each encoding, what is dense alone once, "near" and "eligible" replaced by their names for this shape
/// and encoding. All ranks must call it.
std::vector<EncodedAlgorithm> expand_near(Transport& transport, const std::vector<std::string>& names,
                                          const std::vector<Encoding>& encodings, const Point& point, DataType type,
                                          Wire wire, const std::optional<Machine>& machine);

}  // namespace dsop::bench
