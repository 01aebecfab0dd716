// The gradient of a fully connected or recurrent layer, summed over ranks: G = sum over ranks of A_r^T B_r, by whatever
// mix of factors and gradient is cheapest to send. For MPI communicators include <dsop/mpi.hpp>, for ranks that are
// threads of one process <dsop/threads.hpp>.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include <dsop/arrivals.hpp>
#include <dsop/errors.hpp>
#include <dsop/pending.hpp>
#include <dsop/plan.hpp>
#include <dsop/sparse.hpp>
#include <dsop/stall_watch.hpp>
#include <dsop/transport.hpp>
#include <dsop/views.hpp>

namespace dsop {

/// How to reach a Transport from what a program has; <dsop/mpi.hpp> does it for MPI_Comm.
template <class Handle>
struct TransportOf;

/// What a call communicates over: a Transport, or a handle that TransportOf knows. Owns nothing.
class Communicator {
 public:
  Communicator(Transport& transport) : transport_(&transport) {}
  template <class Handle>
  requires requires(Handle handle) { TransportOf<Handle>::get(handle); }
  Communicator(Handle handle) : transport_(&TransportOf<Handle>::get(handle)) {}

  Transport& transport() const { return *transport_; }

 private:
  Transport* transport_;
};

/// How a call is made. Must be the same on all ranks.
struct Options {
  /// A name from algorithm_names(), or "auto": what the environment variable DSOP_ALGORITHM names, else the cheapest.
  std::string algorithm = "auto";
  double scale = 1;  ///< the sum over ranks is multiplied by it; 1 / batch for a mean
  /// As in BLAS: target = beta target + alpha sum. With beta = 0 nothing of the target is read, not even NaN. Only the
  /// sum travels, so bf16 never rounds targets.
  double alpha = 1;
  double beta = 0;
  std::optional<Machine> machine = std::nullopt;  ///< to plan for; default: that of machine(communicator)
  /// `auto` may take MPI's own allreduce where that was measured to be the fastest. It promises neither equal bits on
  /// all ranks nor a stall watch. Without this only where a tuned machine names it among its winners. Never where MPI's
  /// sums have other bits from call to call (MPICH 5).
  bool allow_native = false;
  /// Looks for zeros in dense factors, and sends and multiplies those without them where that is less to send. Off by
  /// default: it takes a pass over the factors, and a plan for each new number of non-zeros. Each rank's own affair.
  /// Where only what is not zero is multiplied, 0 times an infinity or NaN is 0, not NaN: with a factor that has
  /// diverged, elements of G may come out finite which are NaN without this.
  bool find_zeros = false;
  /// bf16: parts of G that travel are rounded to 16 bits, half the bytes; sums stay in f32, and algorithms that send no
  /// gradient round nothing. Only for f32, and with the algorithms that can. Every rank has the same, rounded bits.
  /// Error of an element g = scale sum a b, beside that of f32: 2^-8 |g| where its owner makes all of it (the
  /// generalized and replicated algorithms: one rounding); P 2^-8 (1 + 2^-8)^(P-1) |scale| sum |a b| where sums travel
  /// (allreduce-ring: P roundings one after the other). What is below 2^-126 is rounded by up to 2^-134: where that may
  /// be, add 2^-126 to |g|, and to |scale| sum |a b|, in these bounds. Beyond 3.39e38 a value becomes infinite.
  Wire wire = Wire::full;
  /// bf16: factors that travel are rounded to 16 bits, half the bytes, and multiplied in f32; algorithms that send none
  /// round nothing. Only for f32. Exact where all elements are bf16 already, as those of layers that ran under mixed
  /// precision are. Else every rank multiplies the same, rounded factors: error of an element of G, beside that of f32:
  /// (2^-7 + 2^-16) |scale| sum |a b|, if no element is below 2^-126.
  Wire factor_wire = Wire::full;
  /// For debugging: after the call the ranks compare hashes of G, and all throw Error naming them if one differs. Where
  /// beta is not 0, what stood in G must have been the same too. One rank that asks for it is enough. Costs a pass over
  /// G and an exchange of 8 bytes. Sharded results and rows alone are not compared.
  bool check_bits = false;
};

/// Sets `gradient` to beta gradient + alpha sum on every rank, with the same bits on each: the sum is scale times that
/// of a^T b over all ranks.
///
/// a is k x n, b is k x m and the gradient n x m; k may differ between ranks and be zero. The views stay the caller's;
/// the range of memory from the gradient's first element to its last must not meet those of a and b. All ranks of
/// `communicator` must call it, in the same order as its other calls, one thread at a time.
///
/// Throws ArgumentError on every rank if any rank's arguments are wrong or the ranks disagree, TransportError if a rank
/// is lost. What a call that fails leaves in the gradient is undefined. Where one rank has no memory to plan for
/// another number of pairs, it alone throws std::bad_alloc: the other ranks wait for it, and the stall watch says so.
///
/// Cost: see the table of algorithms, plus one exchange of records of 32 bytes (log2 P messages), in which `allgather`
/// lets factors ride where those of all ranks take at most 64 KiB. Where no part of G travels, the product itself makes
/// the update, in one pass over the target. Plans of up to 64 shapes and numbers of pairs are kept with the
/// communicator, whose calls share their working memory: a call that was seen before allocates nothing.
template <class T>
void dsop(Communicator communicator, const std::type_identity_t<Factors<T>>& factors, MatrixView<T> gradient,
          const Options& options = {});

/// The same with factors given sparse, one of them or both. Each rank sends each factor in the form that is smaller,
/// and algorithms that can (see their table) multiply only what is not zero.
template <class T>
void dsop(Communicator communicator, const std::type_identity_t<SparseFactors<T>>& factors, MatrixView<T> gradient,
          const Options& options = {});

/// What calls on this communicator plan for where they must choose an algorithm and are given no machine, for
/// write_machine(). DSOP_MACHINE says which: a file; `default`, the transport's; `probe`, or nothing: over MPI and TCP
/// it is measured. That is done once, here or in the first call that needs it, whichever comes first, and kept with
/// the communicator and its later duplicates; ranks as threads keep the transport's. A call that names its algorithm
/// never measures, and takes the transport's machine, or the file's, for what else it chooses. Where ranks have cores
/// measuring takes at most half a second on eight hosts that 200 Mbit/s join, 0.15 s at 1 Gbit/s, 10 ms inside a node;
/// and up to 35 MB a rank. All ranks must call it. Throws ArgumentError on all if the variable names a file that one
/// can't read, or differs between ranks.
Machine machine(Communicator communicator);

/// Replaces what is done about calls on this communicator that wait too long; all ranks should. By default they are
/// reported on stderr after so many seconds as the environment variable DSOP_STALL_SECONDS says; without it never.
/// Also waits for calls that were started. Cost of watching: a look at the clock every few dozen tests for a message.
/// Throws ArgumentError if the limit is negative or not a number.
void set_stall_watch(Communicator communicator, StallWatch watch);

/// How late each rank came to calls on this communicator. The same on all ranks. Sends nothing, and waits for calls
/// that were started.
Arrivals arrivals(Communicator communicator);

/// The plan of the last dsop() on this communicator, with what such calls took on this rank; valid until the next.
/// Sends nothing, waits for calls that were started, and costs what make_plan() does. Throws ArgumentError before any.
const Plan& last_plan(Communicator communicator);

/// A layer's gradient n x m, and the most pairs that a rank will hand over in one call.
struct Shape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t max_pairs = 1;
  double density_a = 1;  ///< the share of a's elements that are expected not to be zero, to choose an algorithm by:
  double density_b = 1;  ///< for factors that are given sparse, or with find_zeros. No promise.
  std::size_t expected_pairs = 0;  ///< of a rank in most calls, to choose an algorithm by; 0: max_pairs. No promise.

  std::size_t planned_pairs() const { return expected_pairs > 0 ? expected_pairs : max_pairs; }
};

/// dsop() for one layer: the algorithm is chosen once, for planned_pairs() on every rank, and the communicator's
/// working memory has room for it; a call with more makes it larger. Construction communicates (all ranks, same order),
/// and throws as dsop(). Move-only (a moved-from one can only be assigned to or destroyed); holds about 9.3
/// KiB, and less than 1 KiB a rank, with the first two of up to 64 plans; the communicator must outlive it. Its end
/// waits for what it has started. A gradient with gaps, unlike one without, or one to add to, makes an algorithm that
/// sends parts of G take room for a second G, on its first run.
template <class T>
class OuterProduct {
 public:
  OuterProduct(Communicator communicator, Shape shape, Options options = {});
  OuterProduct(OuterProduct&&) noexcept;
  OuterProduct& operator=(OuterProduct&&) noexcept;
  ~OuterProduct();

  /// As dsop(); returns when the gradient is complete. max_pairs is a promise: more is an ArgumentError.
  void run(const Factors<T>& factors, MatrixView<T> gradient);
  void run(const SparseFactors<T>& factors, MatrixView<T> gradient);

  /// The gradient's rows that are not all zero, instead of the gradient: what an embedding needs, whose a are one-hot.
  /// Always gathers the factors, each in its smaller form, and multiplies what is not zero; Options::algorithm plays no
  /// part, and any beta but 0 is an ArgumentError. Memory: at most one row of G for each non-zero of
  /// all ranks' a.
  GradientRows<T> run_rows(const SparseFactors<T>& factors);

  /// As run(), but returns at once: a thread of the library's, one for each communicator, runs the calls that were
  /// started on it in the order of their start, one at a time, also those of one layer. Factors and gradient must stay,
  /// and the gradient be left alone, until the handle says that the call is complete; errors come out of the handle
  /// too. Any other call on the communicator first waits for what was started. The thread makes its products with as
  /// many OpenMP threads as the caller of start() has, gives its core away while it waits for messages, and sleeps when
  /// there is nothing to do. `auto` takes an algorithm for a program that computes meanwhile, perhaps another than
  /// run()'s: of the call's arithmetic nothing is hidden then. Over MPI it needs MPI_THREAD_MULTIPLE; where that is not
  /// granted (Plan::runs_at_wait), and on one rank, which sends nothing, calls run when they are waited for.
  [[nodiscard]] Pending start(const Factors<T>& factors, MatrixView<T> gradient);
  [[nodiscard]] Pending start(const SparseFactors<T>& factors, MatrixView<T> gradient);

  /// As run(), but leaves this rank, r, only its rows of G, plan().row_bounds[r] .. plan().row_bounds[r + 1] of the
  /// whole, in `own_rows`: for optimisers whose state is sharded. Sends factors and no gradient, in whichever way is
  /// cheapest; Options::algorithm, wire and find_zeros play no part. Row bounds depend on shape and ranks only, and
  /// rows may be none. Errors as of run(). The first run_sharded() takes a plan of its own.
  void run_sharded(const Factors<T>& factors, MatrixView<T> own_rows);

  /// The plan of the last run (before any: of the shape), with what such runs took on this rank; valid until the next.
  /// Waits for calls that were started on the communicator.
  /// Costs what make_plan() does, since a run evaluates its own algorithm alone.
  const Plan& plan() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dsop
