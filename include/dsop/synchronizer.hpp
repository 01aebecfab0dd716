// The gradients of all of a model's parameters, summed over ranks while backpropagation goes on.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <dsop/dsop.hpp>

namespace dsop {

/// How a synchronizer works. Must be the same on all ranks.
struct SynchronizerOptions {
  /// Dense gradients of fewer bytes are copied into buckets of at most as many, and each bucket is summed at once. So
  /// are factors, of layers that take fewer bytes of a bucket: those of max_pairs of all ranks, or a quarter of the
  /// gradient if that is more. A step's first bucket of factors has a sixteenth, so that it starts early. 0: none is.
  std::size_t bucket_bytes = std::size_t{1} << 20;
  /// Where the learning rate stands when gradients are dropped for later. false: outside the residual, as in SparCML's
  /// thesis; what finish() leaves are gradients. true: inside, as in Ok-Topk; what finish() leaves, of every parameter,
  /// are gradients times the learning rate of the step in which they came.
  bool residual_holds_step = false;
  /// false: everything but what is dense-overlapped starts in finish().
  bool overlap = true;
  std::optional<Machine> machine = std::nullopt;  ///< to plan for; default: that of machine(communicator)
  /// bf16: values travel in 16 bits and are added in f32, under every policy. Only for f32, and with algorithms that
  /// can: of the family "dense" `ring`, which rounds as allreduce-ring does; for dsop and sparse see Options and
  /// SparseAllreduceOptions, which state the errors too; and all that select: what these round off stays in the
  /// residuals, so nothing is lost. add() and set_policy() refuse a policy that names one that can't.
  Wire wire = Wire::full;
};

/// One step of training. Must be the same on all ranks.
struct Step {
  double scale = 1;          ///< of the sum over ranks: 1 / (samples of all ranks) for a mean
  double learning_rate = 1;  ///< plays a part only where SynchronizerOptions::residual_holds_step
};

/// What becomes of a parameter's target, as in BLAS: target = beta target + alpha sum. Must be the same on all ranks.
/// With beta = 0 nothing of the target is read, not even NaN. Only the sum travels, and stays behind: Step::scale is
/// within it, and bf16 never rounds targets.
struct Update {
  double alpha = 1;
  double beta = 0;
};

/// Which weight's errors a bias's gradient is the column sums of. Must be the same on all ranks.
struct BiasOf {
  std::string weight = {};  ///< the name of a parameter that is registered; empty: the parameter is no such bias
  char errors = 'b';        ///< which factor of the weight holds the errors: a or b
};

/// What the last step did to a parameter; all empty where that step ended in an error or the policy has changed since.
struct ParameterStep {
  std::string algorithm = {};     ///< with its number; empty: nothing travelled, or it was not given
  std::size_t target = 0;         ///< k, under a policy that selects
  std::size_t chosen = 0;         ///< elements that this rank selected, under such a policy
  std::size_t in_sum = 0;         ///< elements of the sum, where that is sparse or selected
  std::size_t nans = 0;           ///< that a selecting policy saw in this rank's values
  std::size_t infinities = 0;     ///< the same
  bool evaluated_local = false;   ///< ok-topk: this rank's threshold was found anew, instead of reused
  bool evaluated_global = false;  ///< ok-topk: and that of sums, on all ranks
  std::size_t predicted = 0;  ///< gaussian-k: elements that its threshold reached before it was corrected; else chosen
  double selection_seconds = 0;  ///< that this rank took in finish() to select; what backpropagation hid is left out
};

/// Sums the gradients of a model's parameters over ranks. Each parameter is registered once, by name, with a policy:
///
///   dsop[:ALGORITHM]    exact. Given as factors: their outer products, as OuterProduct does, or those of small layers
///                       by one allgather of a bucket's factors; as a gradient: as dense; as a sparse vector: as
///                       sparse. If none is named, small layers whose gradients are cheaper than factors are dense
///   dsop-bf16[:ALGORITHM]
///                       the same, and factors travel as Options::factor_wire bf16 says: exact where theirs are bf16
///   dense[:ALGORITHM]   exact. An allreduce of the family "dense"; small ones are fused into buckets
///   dense-overlapped[:ALGORITHM]
///                       the same, bit by bit, but each bucket starts when it is full, during backpropagation, even if
///                       SynchronizerOptions::overlap is false: DenseOvlp of Ok-Topk's paper, whose Dense is `dense`
///                       without overlap
///   sparse[:ALGORITHM]  exact. An allreduce of the family "sparse", of what is not zero. If none is named it is chosen
///                       for uniform indices: unlike sparse_allreduce(), no step learns from earlier sums what ranks
///                       have in common, so that one after load() chooses the same, and has the same bits
///   topk:DENSITY        about so large a share of the elements travels, by an algorithm of the family "topk" (for topk
///                       any name of it, perhaps with its numbers: ok-topk(8):0.01); the rest stays behind in this
///                       rank's residual and is added to its next gradient. Keeps two vectors of the gradient's size,
///                       and what its algorithm works in: of ok-topk on P ranks of which each selects k elements, up to
///                       two such vectors more and room for P k pairs of value and index that may come at once
///   none                the gradient stays this rank's own, times the scale
///   NAME[:ARGUMENT]     one that the program has registered: <dsop/policy.hpp>
///
/// What finish() leaves and the residuals, added over ranks, are the gradients and the residuals before: exactly where
/// the arithmetic is exact, but for what policies that sum everything round off (SynchronizerOptions::wire). Gradients
/// are scaled before they are added to a residual, so that a scale that changes from step to step does not change what
/// was left behind.
///
/// Each step: begin(), give() each parameter as soon as backpropagation has it, last layer first, finish(). give()
/// returns at once, and what it started goes on beside the program (see OuterProduct::start; over MPI without
/// MPI_THREAD_MULTIPLE it runs in finish(), and describe() says so; so it does on one rank). Parameters may be left out
/// of a step, but the order of what is given must be the same on all ranks: a bucket is filled in that order. It
/// starts when it is full, or with the parameter that was its last in the step before that had it. All ranks
/// get the same bits (but for `none`).
///
/// Errors: what is wrong on some rank, or differs between ranks, in a step comes out of finish(), on every rank with
/// the same text, as an ArgumentError. The step is then dropped whole: its targets hold anything, residuals and all
/// else that save() writes are bit by bit what they were, on all ranks, and the next step may begin. A give() that
/// stands outside a step is an error of the next step, or of the next call that communicates. All other calls but
/// save(), describe(), residual(), reset_residuals() and last_step() do, so all ranks must make them in the same order,
/// between steps; they throw on every rank too. Move-only (a moved-from one can only be assigned to or destroyed); the
/// communicator must outlive it. Its end waits for what it has started.
template <class T>
class Synchronizer {
 public:
  explicit Synchronizer(Communicator communicator, SynchronizerOptions options = {});
  Synchronizer(Synchronizer&&) noexcept;
  Synchronizer& operator=(Synchronizer&&) noexcept;
  ~Synchronizer();

  /// Registers a parameter whose gradient is rows x columns (a vector has one row), and plans for it: a policy that
  /// can't run here is refused now. max_pairs is a promise for factors, 0: none will be given. Densities serve a plan
  /// of outer products.
  ///
  /// A bias may name its weight. What is given for it then must be the column sums of what is given of that weight's
  /// errors. Under `dsop`, where it is given before its weight in a step and the weight's factors go into a bucket, its
  /// gradient is made of all ranks' errors as they come: no byte of it travels, and what was given is not read.
  void add(const std::string& name, const Shape& shape, const std::string& policy, const BiasOf& bias_of = {});

  /// Changes a parameter's policy. What it has left behind is added to its next gradient, so that nothing is lost:
  /// at once where the new policy is exact (a step given as factors is then summed as a gradient), part by part where
  /// it selects. Under `none` it waits.
  void set_policy(const std::string& name, const std::string& policy);

  /// Begins a step. Never waits.
  void begin(const Step& step = {});

  /// Hands over a parameter, once a step at most. finish() leaves beta target + alpha sum in `target`, where sum is
  /// scale times that over all ranks: of a^T b for factors, or of the sparse (or dense) vector `own`, whose indices
  /// count the target's elements row by row. Without those the sum is of what stands in `gradient`, and replaces it.
  /// The target may be a momentum (beta = mu), or the weights (alpha = - learning rate, beta = 1) once nothing reads
  /// them any more: where factors travel and no gradient does, that is one pass over it. Under a policy that selects
  /// beta must be 0 where SynchronizerOptions::residual_holds_step. Factors, `own` and target must stay, and the target
  /// be left alone, until finish(); no target of a step may overlap another, or what was given. Never waits.
  void give(const std::string& name, const Factors<T>& factors, MatrixView<T> target, const Update& update = {});
  void give(const std::string& name, const SparseFactors<T>& factors, MatrixView<T> target, const Update& update = {});
  void give(const std::string& name, const SparseVectorView<T>& own, MatrixView<T> target, const Update& update = {});
  void give(const std::string& name, MatrixView<T> gradient);

  /// In place of a give(), where this rank can't: finish() throws `error` on all ranks, or where that is empty a text
  /// that says so much, and drops the step. `name` may be empty, for the step as a whole. Never waits.
  void fail(const std::string& name, const std::string& error);

  /// Starts what is left, and returns when all targets are complete: sums over ranks, not means, unless Step::scale
  /// says otherwise. Costs an exchange of records of 32 bytes beside those of the calls.
  void finish();

  /// A table: each parameter's policy, algorithm, bytes that the busiest rank sends a step and predicted time, buckets
  /// with what they hold, and the totals. Beside it what this rank measured by that algorithm, from the agreement on:
  /// the median of the last 16 calls, the last, how many there were, and how long it waited in agreements, on average.
  ///
  /// Buckets are those of the last step; before any, of parameters given in the reverse order of registration. The
  /// predicted time of a policy that selects is without the selection; none is shown while a machine that is to be
  /// measured has not been, since all algorithms are named. Between steps; but for what is measured the same
  /// on all ranks.
  std::string describe() const;

  /// What this rank has dropped of a parameter so far, by rows; empty under policies that drop nothing. Between steps,
  /// valid until the next call. Denormal numbers are kept: to flush them would lose some of the gradients' sum.
  std::span<const T> residual(const std::string& name) const;
  /// Sets this rank's residuals to zero, of all parameters: what they held is in no sum any more. For after a step that
  /// overflowed, whose NaN and infinities would else come back, k a step. Between steps. Sums stay the same on all
  /// ranks whichever of them do it, and what algorithms keep beside, such as thresholds, stays as it is.
  void reset_residuals();
  /// Between steps; of this rank. Throws ArgumentError, as residual() does, if there is no such parameter.
  ParameterStep last_step(const std::string& name) const;

  /// Writes this rank's residuals and the algorithms' states, by parameter name, and the machine that was planned for,
  /// given or measured, between steps: binary, with a version and a checksum. Throws Error if the stream fails.
  void save(std::ostream& out) const;

  /// Takes back what save() wrote, of this version or the one before, on the same rank of as many ranks, with the same
  /// parameters registered: a run then goes on as if it had not been interrupted, bit by bit. Plans for the machine
  /// that was saved, unless this one was given another. Where a parameter has another policy now, its residual is taken
  /// over as by set_policy(). Throws ArgumentError on every rank, and changes nothing on any, if on one the data is cut
  /// off, damaged, of another kind, version, type, rank, model or residual_holds_step, or holds an algorithm that an
  /// older version had found by trying, or if the ranks' are of different steps.
  void load(std::istream& in);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dsop
