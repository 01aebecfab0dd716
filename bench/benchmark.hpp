// The driver of all benchmarks: contenders on inputs, called, verified, timed in turns, printed and written.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dsop/counting.hpp>
#include <dsop/machine.hpp>
#include <dsop/problem.hpp>
#include <dsop/transport.hpp>

#include "output.hpp"
#include "time_in_transport.hpp"
#include "timing.hpp"

namespace dsop::bench {

/// What the command lines of benchmarks have in common.
struct BenchmarkOptions {
  std::vector<std::string> algorithms = {};  ///< names, or words that stand for several
  DataType type = DataType::f32;
  Wire wire = Wire::full;
  std::optional<Machine> machine = {};  ///< planned for
  Protocol protocol = {};
  bool verify = false;
  std::string out = {};  ///< JSON lines are appended to it; empty: none
};

/// The transports that contenders run over, made anew for each input.
struct Watch {
  explicit Watch(Transport& over) : transport(over), timed(over), counted(timed) {}

  Transport& transport;
  TimeInTransport timed;
  CountingTransport counted;
};

/// A contender on one input, and what was measured of it. All ranks have the same.
struct Row : Contender {
  explicit Row(std::string name) : algorithm(std::move(name)) { label = algorithm; }

  // Called in this order:
  /// Before each call that is looked at.
  virtual void reset() {}
  /// A call that is looked at, over a transport that sees its messages. Keeps what the next two need.
  virtual void look(Transport&) { run(); }
  /// Fills in what a call tells. All ranks call it.
  virtual void describe() {}
  /// Elements on this rank that differ from what they should be, with ==. None: that can't be told. All ranks call it.
  virtual std::optional<std::size_t> count_wrong() { return std::nullopt; }
  /// After all rows have been looked at, before they are timed.
  virtual void settle() {}
  /// Once they are: the table's columns and the JSON object's fields.
  virtual Columns columns() const = 0;

  std::string algorithm;                              ///< as asked for
  std::string used = {};                              ///< what ran
  std::string reason = {};                            ///< of auto's choice
  std::optional<double> predicted_seconds = {};       ///< none for a rival
  double bus_bytes = 0;                               ///< what busbw is made of
  bool counted = true;                                ///< false: of some messages nothing is seen
  bool dense = false;                                 ///< sums dense vectors: the fastest such is the base
  bool of_mpi = false;                                ///< the MPI library's own sum, as it comes
  const Rows* among = nullptr;                        ///< all rows of the input
  const Row* base = nullptr;                          ///< with which others are compared; null: there is none
  const Row* mpi = nullptr;                           ///< the same
  std::optional<Traffic> first = {};                  ///< the busiest rank's in the first call; none if not counted
  std::optional<Traffic> busiest = {};                ///< in a later one
  std::optional<Traffic> path = {};                   ///< the critical path of a later one; none if not followed
  std::size_t agreement_messages = 0;                 ///< of this rank, before the algorithm's
  std::vector<std::size_t> wire_bytes_per_host = {};  ///< sent in one call, on the emulated cluster; else empty
  std::optional<std::size_t> wrong = {};              ///< elements, over all ranks; none if not verified

  double median_seconds() const { return median(samples.observations()); }
};

/// A row whose contender is a collective call.
struct CallRow : Row {
  CallRow(Watch& over, std::string name, const BenchmarkOptions& asked)
      : Row(std::move(name)), watch(over), asked_for(asked) {}

  virtual Columns input() const = 0;    ///< to the left of what all calls have
  virtual Columns results() const = 0;  ///< before traffic and comparison
  Columns columns() const final;

  int ranks() const { return watch.transport.size(); }
  Machine planned_for() const;

  Watch& watch;
  const BenchmarkOptions& asked_for;
};

/// A row whose contender is a function, and what is shown of it another's answer.
struct FunctionRow final : Row {
  using Row::Row;
  void run() override { call(); }
  std::optional<std::size_t> count_wrong() override { return check ? std::optional(check()) : std::nullopt; }
  Columns columns() const override { return shown(*this); }

  std::function<void()> call = {};
  std::function<std::size_t()> check = {};  ///< after a call, elements that are wrong; empty: none can be
  std::function<Columns(const Row&)> shown = {};
};

/// Elements that are not the same.
template <class T>
std::size_t count_different(std::span<const T> made, std::span<const T> expected) {
  return std::transform_reduce(made.begin(), made.end(), expected.begin(), std::size_t{0}, std::plus<>(),
                               std::not_equal_to<>());
}

/// What the notes above a table say of them.
inline const std::string median_note =
    "median over iterations of the slowest rank's time; sent and msgs: the busiest rank's";
inline const std::string predicted_note =
    "predicted: the call's agreement and the algorithm's cost formula, for the machine planned for";
inline const std::string base_note =
    "x base, x mpi: times faster than the fastest dense form of this run, and than MPI's as it comes; under 1.15: no "
    "gain";

/// nccl-tests' factor of an allreduce: what each rank's link must carry at least.
inline double allreduce_bus_bytes(std::size_t bytes, int ranks) {
  return static_cast<double>(bytes) * 2 * (ranks - 1) / ranks;
}

/// Adds the names of those that can run.
template <class Known, class WhyNot>
void add_all(std::vector<std::string>& names, const Known& known, const WhyNot& why_not) {
  for (const auto& algorithm : known)
    if (why_not(algorithm).empty()) names.push_back(algorithm.name);
}

/// Throws ArgumentError if sums could be larger than the whole numbers that bf16 holds, where that is what is compared:
/// up to 2^8. A rank adds `largest` at most.
void check_can_verify(const Transport& transport, const BenchmarkOptions& options, std::size_t largest);

/// Looks at each row's calls, then times all in turns. All ranks call it and all get the same.
void measure(Watch& watch, const Rows& rows, const Method& method, const BenchmarkOptions& options,
             const std::function<void(const std::string&)>& progress);

/// Measures all rows of all inputs; rank 0 prints the table on stdout and writes the JSON lines. Throws Error after the
/// last if elements are wrong. All ranks must call it.
void benchmark(Transport& transport, const Family& family, const BenchmarkOptions& options);

}  // namespace dsop::bench
