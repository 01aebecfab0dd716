// MPI_Allgather with each of Open MPI's algorithms forced: the DSOP paper's allgather baseline by any of them (Enderlin
// et al. 2021, section "Basic Implementation"), but for the arithmetic, which is that of dsop's `allgather`.
//
//   1. MPI_Allgather of all A, then of all B, on a communicator that is bound to one algorithm. MPI_Allgather takes
//      equal blocks, so a rank with fewer pairs than another adds pairs of zeros.
//   2. One product with inner dimension P k, k being the most pairs of a rank.
//
// Cost: that of the algorithm, twice; 2 P k n m flops; G is written once.
#include <algorithm>

#include "compare/openmpi.hpp"
#include "compare/rival.hpp"
#include "kernels/outer_product.hpp"
#include "memory/workspace.hpp"

namespace dsop::bench::compare {
namespace {

constexpr const char* prefix = "openmpi-allgather-";

std::size_t padded_pairs(const Problem& problem) {
  return static_cast<std::size_t>(problem.ranks()) * problem.largest_pairs();
}

/// One factor of all ranks: P k rows, rank r's from row r k on, zeros behind its pairs.
template <class T>
class Padded {
 public:
  Padded(const RivalJob<T>& job, std::size_t columns)
      : all_pairs_(padded_pairs(job.problem)),
        columns_(columns),
        first_own_(static_cast<std::size_t>(job.transport.rank()) * job.problem.largest_pairs() * columns) {
    memory_.resize(all_pairs_ * columns * sizeof(T));
    std::ranges::fill(memory_.elements(), T{0});
  }

  MatrixView<const T> gather(const OpenMpiAllgather& allgather, MatrixView<const T> own) {
    const std::span<T> all = memory_.elements();
    for (std::size_t p = 0; p < own.rows; ++p)
      std::copy_n(own.row(p), columns_, all.data() + first_own_ + p * columns_);
    allgather(std::as_writable_bytes(all));
    return {all.data(), all_pairs_, columns_};
  }

 private:
  std::size_t all_pairs_;
  std::size_t columns_;
  std::size_t first_own_;
  Workspace<T> memory_;
};

template <class T>
class ForcedAllgather final : public PreparedRival {
 public:
  ForcedAllgather(const RivalJob<T>& job, int number)
      : job_(job),
        allgather_(openmpi_allgather_forced_to(number)),
        all_a_(job, job.problem.rows),
        all_b_(job, job.problem.columns) {}

  void run() override {
    forget_openmpi_algorithm();
    const MatrixView<const T> A = all_a_.gather(allgather_, job_.own.a);
    const MatrixView<const T> B = all_b_.gather(allgather_, job_.own.b);
    kernels::product<T>(A, B, job_.gradient, T{1}, 0);
  }
  std::string used() const override { return prefix + openmpi_algorithm_that_ran(); }

 private:
  RivalJob<T> job_;
  OpenMpiAllgather allgather_;
  Padded<T> all_a_;
  Padded<T> all_b_;
};

Rival forced(int number, const std::string& name, const std::string& how) {
  return {.name = prefix + name,
          .summary = "all A, then all B, by Open MPI's allgather algorithm " + std::to_string(number) + ", " + how +
                     ", then one product",
          .source = "Open MPI 4.1, coll_tuned_allgather_algorithm",
          .unsupported = openmpi_unavailable,
          .flops =
              [](const Problem& problem) {
                return 2 * static_cast<double>(padded_pairs(problem)) * static_cast<double>(problem.rows) *
                       static_cast<double>(problem.columns);
              },
          .workspace_elements =
              [](const Problem& problem) { return padded_pairs(problem) * (problem.rows + problem.columns); },
          .prepare =
              [number]<class T>(const RivalJob<T>& job) { return std::make_unique<ForcedAllgather<T>>(job, number); }};
}

}  // namespace

std::vector<Rival> openmpi_allgathers() {
  std::vector<Rival> all{forced(1, "linear", "to rank 0 and back"),
                         forced(2, "bruck", "in ceil(log2 P) rounds"),
                         forced(3, "recursive_doubling", "across a hypercube"),
                         forced(4, "ring", "round a ring"),
                         forced(5, "neighbor", "swapped with both neighbours by turns"),
                         forced(6, "two_proc", "one swap of two ranks")};
  all.back().unsupported = [](const Transport& transport) {
    const std::string reason = openmpi_unavailable(transport);
    return reason.empty() && transport.size() != 2 ? "swaps the blocks of two ranks" : reason;
  };
  return all;
}

}  // namespace dsop::bench::compare
