// Sums and copies of dense vectors over ranks: what a training loop needs beside outer products. For MPI communicators
// include <dsop/mpi.hpp>, for ranks that are threads of one process <dsop/threads.hpp>.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <dsop/dsop.hpp>

namespace dsop {

/// How a collective is made. Must be the same on all ranks.
struct CollectiveOptions {
  /// A name, perhaps with its number, of the family "dense" (for allreduce), "broadcast" or "reduce", for example
  /// "linear-pipeline(64)"; or "auto": the least predicted time, of the MPI library's own only if allowed.
  std::string algorithm = "auto";
  std::optional<Machine> machine = std::nullopt;  ///< to plan for; default: that of machine(communicator)
  bool allow_native = false;                      ///< as in Options, for allreduces
};

// For T float and double. All ranks of `communicator` must make the same calls in the same order, with as many elements
// and the same root. Buffers are kept with the communicator. Throw ArgumentError on every rank if any rank's arguments
// are wrong or the ranks disagree, TransportError if a rank is lost. Cost: the algorithm's (see the table of
// algorithms), plus one exchange of records of 32 bytes (log2 P messages).

/// `data` becomes the sum of all ranks' data, the same bits on each.
template <class T>
void allreduce(Communicator communicator, std::span<T> data, const CollectiveOptions& options = {});

/// `data` becomes that of rank `root`.
template <class T>
void broadcast(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options = {});

/// `data` of rank `root` becomes the sum of all ranks' data; what the others' contains afterwards is undefined. The
/// order of the sum depends on the algorithm, the ranks and the root alone.
template <class T>
void reduce(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options = {});

/// The same, returning at once, as OuterProduct::start does and in one order with what that starts: `data` must stay,
/// and be left alone, until the handle says that the call is complete; errors come out of the handle too.
template <class T>
[[nodiscard]] Pending start_allreduce(Communicator communicator, std::span<T> data,
                                      const CollectiveOptions& options = {});
template <class T>
[[nodiscard]] Pending start_broadcast(Communicator communicator, std::span<T> data, int root,
                                      const CollectiveOptions& options = {});
template <class T>
[[nodiscard]] Pending start_reduce(Communicator communicator, std::span<T> data, int root,
                                   const CollectiveOptions& options = {});

}  // namespace dsop
