// The DSOP paper's allgather baseline as it was: a rank-1 update of the whole G for every pair.
//
//   1. Ring allgather of all factors.
//   2. For each of the K pairs: G += a b^T, a pass over G; the first writes.
//
// dsop's `allgather` makes one product with inner dimension K instead, and writes G once.
// Cost: P-1 messages; (P-1) k (n+m) words; 2 K n m flops; K passes over G.
#include <algorithm>
#include <vector>

#include <dsop/plan.hpp>

#include "compare/rival.hpp"
#include "kernels/threads.hpp"
#include "outer_product/gather_factors.hpp"
#include "patterns/blocks.hpp"

namespace dsop::bench::compare {
namespace {

constexpr const char* rival_name = "allgather-per-pair";

template <class T>
void write_pair(const T* a, const T* b, MatrixView<T> G) {
  for (std::size_t i = 0; i < G.rows; ++i)
    for (std::size_t j = 0; j < G.columns; ++j) G.row(i)[j] = a[i] * b[j];
}

template <class T>
void add_pair(const T* a, const T* b, MatrixView<T> G) {
  for (std::size_t i = 0; i < G.rows; ++i)
    for (std::size_t j = 0; j < G.columns; ++j) G.row(i)[j] += a[i] * b[j];
}

template <class T>
class AllgatherPerPair final : public PreparedRival {
 public:
  explicit AllgatherPerPair(const RivalJob<T>& job)
      : job_(job),
        plan_(make_plan(job.problem, job.transport.default_machine(), "allgather")),
        gathered_(outer_product::gathered_elements(job.problem)) {}

  void run() override {
    OuterProductCall<T> call{job_.transport, plan_, job_.own, job_.gradient, T{1}, false, gathered_};
    const Factors<T> all = outer_product::gather_factors(call);
    const std::size_t threads = kernels::thread_count();
    const patterns::Blocks rows(job_.gradient.rows, static_cast<int>(threads));
    kernels::on_threads(threads, [&](std::size_t thread, std::size_t team) {
      for (std::size_t block = thread; block < threads; block += team) {
        const std::size_t first = rows.offset(static_cast<int>(block));
        update(all, first, job_.gradient.row_range(first, rows.size(static_cast<int>(block))));
      }
    });
  }

  std::string used() const override { return rival_name; }

 private:
  static void update(const Factors<T>& all, std::size_t first_row, MatrixView<T> G) {
    if (all.a.rows == 0) {
      std::fill_n(G.data, G.rows * G.columns, T{0});
      return;
    }
    write_pair(all.a.row(0) + first_row, all.b.row(0), G);
    for (std::size_t p = 1; p < all.a.rows; ++p) add_pair(all.a.row(p) + first_row, all.b.row(p), G);
  }

  RivalJob<T> job_;
  Plan plan_;
  std::vector<T> gathered_;
};

}  // namespace

Rival allgather_per_pair() {
  return {.name = rival_name,
          .summary = "everybody gets all factors and adds them to G pair by pair, a pass over G each",
          .source = "Enderlin et al. 2021 (DSOP), allgather baseline as it was",
          .counted = true,
          .flops =
              [](const Problem& problem) {
                return 2 * static_cast<double>(problem.total_pairs()) * static_cast<double>(problem.rows) *
                       static_cast<double>(problem.columns);
              },
          .workspace_elements = outer_product::gathered_elements,
          .prepare = {[](const RivalJob<float>& job) { return std::make_unique<AllgatherPerPair<float>>(job); },
                      [](const RivalJob<double>& job) { return std::make_unique<AllgatherPerPair<double>>(job); }}};
}

}  // namespace dsop::bench::compare
