// The sum over all ranks of what each selects of its gradient, with the rest kept for the next step: top-k allreduces
// with error feedback. For MPI communicators include <dsop/mpi.hpp>, for ranks that are threads of one process
// <dsop/threads.hpp>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dsop/dsop.hpp>
#include <dsop/selection.hpp>

namespace dsop {

/// What a top-k allreduce keeps between calls, and nothing else: save it with a checkpoint, one for each parameter and
/// rank. Seed and local threshold are the rank's own; all else is the same on all ranks.
struct TopKState {
  SelectionState selection = {};  ///< calls so far, seed, threshold of this rank's choice
  double global_threshold = 0;    ///< ok-topk: of sums
  std::vector<std::uint64_t> bounds =
      {};  ///< ok-topk: rank r sums elements bounds[r] .. bounds[r + 1]; empty: none yet

  bool operator==(const TopKState&) const = default;

  /// A few lines of text, the same on every machine.
  std::string text() const;
  /// Throws ArgumentError naming the line and what was expected there if `text` is not what text() gave.
  static TopKState from_text(std::string_view text);
};

/// How a top-k allreduce is made. Must be the same on all ranks.
struct TopKOptions {
  std::string algorithm = "ok-topk";  ///< a name of the family "topk", perhaps with its numbers
  /// To plan for; default: a file that DSOP_MACHINE names, else the transport's: 10 Gbit/s, or memory for threads.
  std::optional<Machine> machine = std::nullopt;
  /// bf16: values travel in 16 bits, beside indices of 32 (ok-topk's search for thresholds in full), and are added in
  /// f32. Only for f32. What is rounded off a value stays in the residual of the rank that sends it, so nothing is
  /// lost. What sums exactly what ranks select does so by `allgather`, which rounds nothing twice. Beyond 3.39e38 a
  /// value becomes infinite.
  Wire wire = Wire::full;
};

/// The sum and its memory, the same bits on all ranks, and what this rank selected. With `ok-topk` sparse where that is
/// no larger, with `gtopk` where it is no larger on its way (as `wire` says), else in the form that the exact sum
/// beneath gives it (see SparseSum).
template <class T>
struct TopKSum {
  SparseVectorView<T> sum = {};      ///< lies in `memory`
  std::unique_ptr<T[]> memory = {};  ///< its size depends on what was selected
  std::size_t chosen = 0;            ///< elements that this rank selected and sent
  std::size_t nans = 0;              ///< in this rank's values before the call
  std::size_t infinities = 0;        ///< the same
  bool evaluated_local = false;      ///< ok-topk: this call found this rank's threshold anew, instead of reusing it
  bool evaluated_global = false;     ///< ok-topk: and the threshold of sums, the same on all ranks
  std::string algorithm = {};        ///< that made it, with its numbers and that of the exact algorithm beneath
  /// The indices, rising, of the chosen that took part: with `topk`, `gaussian-k` and `expected-k`, in all their
  /// forms, of all; with the others of those that the sum has, where it is dense of those that are not zero in it. This
  /// rank's residual is 0 there, or what was rounded off; with `gtopk` also what this rank dropped of them on the way
  /// up the tree. They lie in the TopKAllreduce, also when that is moved, until its next run() or its end.
  std::span<const std::uint32_t> took_part = {};
};

/// Sums about k elements of each rank's vector, over and over; one object a parameter. `topk`, `gaussian-k` and
/// `expected-k`, in all their forms, give the whole sum of what the ranks selected. Where they choose how to sum it
/// they take indices for uniform, whatever the sums before had in common: that would belong to the state, and a run
/// that goes on from saved ones would else choose otherwise. `ok-topk`, in all its forms, gives about the k largest of
/// that sum; `gtopk` the k that are left by a tree of ranks each of which keeps the k largest of two, which may be
/// others.
template <class T>
class TopKAllreduce {
 public:
  /// For vectors of `elements`, at most 2^32. All ranks make it in the same order as the communicator's calls.
  /// Communicates nothing: what is wrong with the arguments is said by run(). Ranks that call different objects are an
  /// ArgumentError on all.
  TopKAllreduce(Communicator communicator, std::size_t elements, TopKOptions options = {}, TopKState state = {});
  TopKAllreduce(TopKAllreduce&&) noexcept;
  TopKAllreduce& operator=(TopKAllreduce&&) noexcept;
  ~TopKAllreduce();

  /// Sums about the k largest elements of all ranks' values; what is not in the sum stays behind.
  ///
  /// `values`: in, this rank's gradient and its old residual, added; out, its new residual: all that is not in the sum,
  /// be it that nobody chose it or that it was dropped on its way. So the values of all ranks before, added, are the
  /// sum and the residuals of all ranks after, added: exactly where the arithmetic is exact. NaN and infinity count as
  /// the largest, so are sent first and never lost. k, the same on all ranks, is at most values.size(); 0 selects
  /// nothing. All ranks of the communicator must call it, in the same order as its other calls.
  ///
  /// Throws ArgumentError on every rank, and changes neither values nor state, if any rank's arguments are wrong or the
  /// ranks disagree, also about k, the number of calls, thresholds or bounds in their states; TransportError if a rank
  /// is lost or a message malformed, which leaves values undefined.
  ///
  /// Cost: the selection, an exchange (log2 P messages) of records of 32 bytes, and what the algorithm's formula says.
  /// The first call makes a second exchange, of a byte; so do calls with another k, with many more chosen elements than
  /// before or, where the exact sum beneath is chosen by their numbers, with others. Buffers are kept from call to
  /// call.
  TopKSum<T> run(std::span<T> values, std::size_t k);

  /// The same, returning at once, as OuterProduct::start does and in one order with what that starts: values and `sum`,
  /// which gets the result, must be left alone until the call is complete. Selects when it runs. Errors come out of
  /// wait(), on every rank. The object's end waits for what it has started.
  [[nodiscard]] Pending start(std::span<T> values, std::size_t k, TopKSum<T>& sum);

  /// After the last call; waits for those that were started. Bounds for another number of ranks than there are are
  /// forgotten.
  const TopKState& state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What the ranks are to sum: about `k` elements of each rank's `elements`.
struct TopKProblem {
  std::size_t elements = 0;  ///< N
  std::size_t k = 0;
  int ranks = 1;
  DataType type = DataType::f32;
  Group group = {};
  Wire wire = Wire::full;  ///< of values that travel
};

/// What a call costs with an algorithm as TopKOptions names it, beside the selection and the agreement that opens it,
/// if every rank selects k; of ok-topk a call that reuses thresholds and bounds, where ranks select alike. Throws
/// ArgumentError when the name is unknown or can't be used there, wire is bf16 and type is not f32, or ranks, k or
/// nodes make no sense.
Cost topk_cost(const TopKProblem& problem, const Machine& machine, const std::string& algorithm);

}  // namespace dsop
