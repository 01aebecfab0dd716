// The DSOP paper's allgather baseline (Enderlin et al. 2021, section "Basic Implementation") as it was: two exchanges,
// and a rank-1 update of the whole G for every pair.
//
//   1. Allgather of all A, then of all B: by neighbor exchange, as Open MPI did it in all the paper's runs, or round a
//      ring where P is odd.
//   2. For each of the K pairs: G += a b^T, a pass over G; the first writes.
//
// dsop's `allgather` gathers both at once, makes one product with inner dimension K, and writes G once.
// Cost: P messages (2 (P-1) where P is odd); (P-1) k (n+m) words, of neighbor exchange the own ones a second time and
// without those of the couple that came last; 2 K n m flops; K passes over G.
#include <algorithm>

#include "algorithms/dense/allgather.hpp"
#include "compare/pair_passes.hpp"
#include "compare/rival.hpp"
#include "memory/workspace.hpp"

namespace dsop::bench::compare {
namespace {

constexpr const char* rival_name = "allgather-per-pair";

/// One factor of all ranks: K rows, rank r's from row first_row[r] on.
template <class T>
class Gathered {
 public:
  Gathered(const Problem& problem, std::size_t columns) : columns_(columns), blocks_{{0}} {
    memory_.resize(problem.total_pairs() * columns * sizeof(T));
    for (const std::size_t pairs : problem.pairs)
      blocks_.bounds_bytes.push_back(blocks_.bounds_bytes.back() + pairs * columns * sizeof(T));
  }

  MatrixView<const T> gather(Transport& transport, MatrixView<const T> own) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    const std::span<T> all = memory_.elements();
    T* const first = all.data() + blocks_.bounds_bytes[rank] / sizeof(T);
    for (std::size_t p = 0; p < own.rows; ++p) std::copy_n(own.row(p), columns_, first + p * columns_);
    const char* const how = transport.size() == 1 || transport.size() % 2 == 0 ? "neighbor" : "ring";
    AllgatherCall call{transport, std::as_writable_bytes(all), blocks_};
    allgather_algorithms().find(how)->run(call);
    return {all.data(), all.size() / std::max(columns_, std::size_t{1}), columns_};
  }

 private:
  std::size_t columns_;
  Workspace<T> memory_;
  AllgatherProblem blocks_;
};

template <class T>
class AllgatherPerPair final : public PreparedRival {
 public:
  explicit AllgatherPerPair(const RivalJob<T>& job)
      : job_(job), all_a_(job.problem, job.problem.rows), all_b_(job.problem, job.problem.columns) {}

  void run() override {
    const MatrixView<const T> A = all_a_.gather(job_.transport, job_.own.a);
    const MatrixView<const T> B = all_b_.gather(job_.transport, job_.own.b);
    pair_passes<T>(A, B, job_.gradient);
  }

  std::string used() const override { return rival_name; }

 private:
  RivalJob<T> job_;
  Gathered<T> all_a_;
  Gathered<T> all_b_;
};

}  // namespace

Rival allgather_per_pair() {
  return {.name = rival_name,
          .summary = "everybody gets all A, then all B, by neighbors, and adds each pair to G, a pass over G each",
          .source = "Enderlin et al. 2021 (DSOP), allgather baseline as it was",
          .counted = true,
          .flops =
              [](const Problem& problem) {
                return 2 * static_cast<double>(problem.total_pairs()) * static_cast<double>(problem.rows) *
                       static_cast<double>(problem.columns);
              },
          .workspace_elements =
              [](const Problem& problem) { return problem.total_pairs() * (problem.rows + problem.columns); },
          .prepare = []<class T>(const RivalJob<T>& job) { return std::make_unique<AllgatherPerPair<T>>(job); }};
}

}  // namespace dsop::bench::compare
