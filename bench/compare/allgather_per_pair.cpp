// The DSOP paper's allgather baseline as it was: a rank-1 update of the whole G for every pair.
//
//   1. Ring allgather of all factors.
//   2. For each of the K pairs: G += a b^T, a pass over G; the first writes.
//
// dsop's `allgather` makes one product with inner dimension K instead, and writes G once.
// Cost: P-1 messages; (P-1) k (n+m) words; 2 K n m flops; K passes over G.
#include <dsop/plan.hpp>

#include "algorithms/outer_product/gather_factors.hpp"
#include "compare/pair_passes.hpp"
#include "compare/rival.hpp"
#include "memory/workspace.hpp"

namespace dsop::bench::compare {
namespace {

constexpr const char* rival_name = "allgather-per-pair";

template <class T>
class AllgatherPerPair final : public PreparedRival {
 public:
  explicit AllgatherPerPair(const RivalJob<T>& job)
      : job_(job), plan_(make_plan(job.problem, job.transport.default_machine(), "allgather")) {
    memory_.resize(plan_.workspace_bytes);
  }

  void run() override {
    Arena arena(memory_.elements());
    OuterProductCall<T> call{job_.transport, plan_, job_.own, job_.gradient, T{1}, false, arena};
    const outer_product::GatheredFactors<T> memory(arena, plan_.problem);
    const Factors<T> all = outer_product::gather_factors(call, memory);
    pair_passes<T>(all.a, all.b, job_.gradient);
  }

  std::string used() const override { return rival_name; }

 private:
  RivalJob<T> job_;
  Plan plan_;
  Workspace<std::byte> memory_;
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
          .workspace_elements =
              [](const Problem& problem) { return problem.total_pairs() * (problem.rows + problem.columns); },
          .prepare = []<class T>(const RivalJob<T>& job) { return std::make_unique<AllgatherPerPair<T>>(job); }};
}

}  // namespace dsop::bench::compare
