// The sum over all ranks of vectors of which most elements are zero: gradients without outer-product structure, as of
// embeddings and convolutions. For MPI communicators include <dsop/mpi.hpp>, for ranks that are threads of one process
// <dsop/threads.hpp>.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <dsop/dsop.hpp>

namespace dsop {

struct SparseAlgorithm;

/// How the indices of different ranks overlap: as equally likely ones do by chance, all of them, or none.
enum class Overlap : unsigned char { uniform, full, none };

/// A vector of `elements` to be summed over ranks, rank r holding nonzeros[r] of them.
struct SparseProblem {
  std::size_t elements = 0;                ///< N
  std::vector<std::size_t> nonzeros = {};  ///< k of each rank; Sparsity::dense: all, without indices
  DataType type = DataType::f32;
  Group group = {};
  Overlap overlap = Overlap::uniform;
  Wire wire = Wire::full;  ///< of values that travel
  /// The sum of two vectors is sparse if their elements with an index are together at most this share of N, and if it
  /// is no larger sparse than dense. make_sparse_plan() sets it: a sparse sum must not travel and add up more slowly.
  double sparse_share = 1;
  /// Overlap as it was measured: like that of indices drawn, all alike, from so many elements. 0: from all N.
  double drawn_from = 0;

  int ranks() const { return static_cast<int>(nonzeros.size()); }
  std::size_t total_nonzeros() const;
  std::size_t largest_nonzeros() const;
  /// How many elements are not zero in the sum of so many ranks, expected of k nonzeros each, k being the mean.
  /// Uniform: N (1 - (1 - k/N)^ranks), what the sum of Renggli 2017, section 3.2.1, is in closed form.
  double expected_union(int ranks) const;
  /// The drawn_from with which so many are expected in the sum of all.
  double drawn_from_of(double measured_union) const;
};

struct SparsePlan : PlanOf<SparseAlgorithm, SparseProblem> {
  Exchange exchange = {};  ///< of what the algorithm gathers, as expected
};

/// Several lines: the problem, the choice and its reason, the predicted times of all, what can't serve and why.
std::ostream& operator<<(std::ostream& out, const SparsePlan& plan);

/// The plan for a problem, without communicating. `algorithm` is a name, perhaps with its number, or "auto": the least
/// predicted time, of sparse and dense algorithms. Throws ArgumentError when the name is unknown (the text lists the
/// known ones), when it can't serve, or when sizes overflow.
SparsePlan make_sparse_plan(const SparseProblem& problem, const Machine& machine,
                            const std::string& algorithm = "auto");

/// The same plan for other numbers of nonzeros, about as many: the choice stays, the memory that it takes is found
/// anew. Throws ArgumentError if there is not one for each rank.
void adapt_plan(SparsePlan& plan, const std::vector<std::size_t>& nonzeros);

/// How a sparse allreduce is made. Must be the same on all ranks.
struct SparseAllreduceOptions {
  std::string algorithm = "auto";                 ///< a name of the family "sparse", perhaps with its number, or "auto"
  std::optional<Machine> machine = std::nullopt;  ///< to plan for; default: that of machine(communicator)
  /// bf16: values travel in 16 bits, beside indices of 32, and are added in f32. Only for f32, and with the algorithms
  /// that can. Every rank has the same, rounded bits. Error of an element, beside that of f32, x_r being rank r's:
  /// ((1 + 2^-8)^s - 1) sum |x_r|, about s 2^-8, for values that are rounded s times: once with `allgather`; twice with
  /// `ssar-` and `dsar-split-allgather` and `topk-dsa`, which round sums too; log2 P times with
  /// `ssar-recursive-doubling`, or floor(log2 P) + 2 times where P is no power of two; log2 C + 2 times with
  /// `dsar-early-switch(g)`, C being the largest power of two with g C <= P, and once more where g C < P. P 2^-8 (1 +
  /// 2^-8)^(P-1) sum |x_r| with `dense-ring`, whose partial sums are rounded. Beyond 3.39e38 a value becomes infinite.
  Wire wire = Wire::full;
};

/// The sum and its memory. All ranks have the same, of the same form, which is never larger than dense.
/// `ssar-split-allgather` and `topk-dsa` make it sparse where that is no larger; `allgather` where all ranks' elements
/// together, be they at the same places or not, would be no larger and no slower to add and send so
/// (SparseProblem::sparse_share); `ssar-recursive-doubling` where that holds at each swap of the two sums' elements;
/// all others dense. Elements that cancel may stand in it as zeros.
template <class T>
struct SparseSum {
  SparseVectorView<T> sum = {};      ///< lies in `memory`
  std::unique_ptr<T[]> memory = {};  ///< of no more bytes than the vector takes dense, up to an eighth more than needed
  std::string algorithm = {};        ///< that made it, with its number
};

/// The sum of all ranks' vectors, the same bits on each.
///
/// `own` may be sparse or dense, and its dimension, at most 2^32, is the same on all ranks; a sparse one that is larger
/// so than dense is treated as dense. All ranks of `communicator` must call it, in the same order as its other calls.
/// Throws ArgumentError on every rank if any rank's arguments are wrong or the ranks disagree, TransportError if a rank
/// is lost or a message malformed.
///
/// `auto` expects the overlap of indices that the communicator's last sum by `auto` of as many elements had, before any
/// what chance makes, and chooses anew when numbers of elements or overlap have changed by more than a twentieth.
///
/// Cost: a pass over the indices, an exchange (log2 P messages) of records of 32 bytes, and what the algorithm's
/// formula says. A call that plans, or needs an eighth more memory than the last that did, makes a second exchange, of
/// a byte. Buffers are kept with the communicator, SparsePlan::workspace_bytes: all ranks' elements with `allgather`,
/// up to two dense vectors with `ssar-recursive-doubling` (as bf16 three), less than that with the others as a rule
/// (docs/sparse.md has a table); beside them and the result a call that was seen before allocates nothing.
template <class T>
[[nodiscard]] SparseSum<T> sparse_allreduce(Communicator communicator,
                                            const std::type_identity_t<SparseVectorView<T>>& own,
                                            const SparseAllreduceOptions& options = {});

/// The same, returning at once, as OuterProduct::start does and in one order with what that starts: what `own` points
/// to must stay, and `sum`, which gets the result, be left alone, until the call is complete. Arguments are checked
/// when it runs, and errors come out of wait(), on every rank.
template <class T>
[[nodiscard]] Pending start_sparse_allreduce(Communicator communicator,
                                             const std::type_identity_t<SparseVectorView<T>>& own, SparseSum<T>& sum,
                                             const SparseAllreduceOptions& options = {});

/// sparse_allreduce() for vectors that belong together, such as one parameter's gradients: plans are its own, and
/// `auto` expects the overlap that its own last sum had, whatever the communicator's other calls sum. A new object
/// knows nothing yet. All ranks make it in the same order as the communicator's calls, with the same options, and call
/// the same one. Construction sends nothing: what is wrong with the options is said by run(). Move-only (a moved-from
/// one can only be assigned to or destroyed); the communicator, which keeps the buffers, must outlive it.
template <class T>
class SparseAllreduce {
 public:
  explicit SparseAllreduce(Communicator communicator, SparseAllreduceOptions options = {});
  SparseAllreduce(SparseAllreduce&&) noexcept;
  SparseAllreduce& operator=(SparseAllreduce&&) noexcept;
  ~SparseAllreduce();

  /// As sparse_allreduce(), in memory, errors and cost too. Ranks that call different objects are an ArgumentError on
  /// all. Vectors of other dimensions get plans of their own.
  [[nodiscard]] SparseSum<T> run(const SparseVectorView<T>& own);
  /// As start_sparse_allreduce(). The object's end waits for what it has started.
  [[nodiscard]] Pending start(const SparseVectorView<T>& own, SparseSum<T>& sum);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dsop
