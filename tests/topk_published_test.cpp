// Ok-Topk as published, and as its authors' program has it, beside the same made plainly with all ranks' values in one
// place.
#include <catch2/catch.hpp>

#include <cmath>

#include "topk_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace published {  // names that other files compiled with this one may have
namespace {

double magnitude_of_kth(std::vector<float> values, std::size_t k) {
  std::erase(values, 0.0F);
  std::ranges::sort(values, std::greater<>(), [](float x) { return std::abs(x); });
  return k <= values.size() ? std::abs(values[k - 1]) : 0;
}

std::vector<std::uint32_t> that_reach(const std::vector<float>& values, double th) {
  std::vector<std::uint32_t> indices;
  for (std::uint32_t i = 0; i < values.size(); ++i)
    if (values[i] != 0 && std::abs(values[i]) >= static_cast<float>(th)) indices.push_back(i);
  return indices;
}

class Plain {
 public:
  Plain(bool adapts, int ranks, const TopKCase& c)
      : adapts_(adapts),
        k_(c.k),
        values(static_cast<std::size_t>(ranks), std::vector<float>(c.elements)),
        local(values.size()),
        chosen(values.size()) {}

  void step(bool evaluates) {
    sum.assign(values[0].size(), 0);
    for (std::size_t r = 0; r < values.size(); ++r) {
      if (evaluates) local[r] = magnitude_of_kth(values[r], k_);
      chosen[r] = evaluates || !adapts_ ? that_reach(values[r], local[r]) : choose_adapting(r);
      for (const std::uint32_t i : chosen[r]) sum[i] += values[r][i];
    }
    if (evaluates) global = magnitude_of_kth(sum, k_);
    const std::vector<std::uint32_t> kept = that_reach(sum, global);
    if (adapts_ && 3 * kept.size() > 4 * k_) global *= 1.008;
    if (adapts_ && 3 * kept.size() < 2 * k_) global /= 1.008;
    std::vector<float> of_kept(sum.size());
    for (const std::uint32_t i : kept) of_kept[i] = sum[i];
    sum = of_kept;
    for (std::size_t r = 0; r < values.size(); ++r)
      for (const std::uint32_t i : chosen[r])
        if (sum[i] != 0) values[r][i] = 0;
  }

 private:
  std::vector<std::uint32_t> choose_adapting(std::size_t r) {
    std::vector<std::uint32_t> all = that_reach(values[r], local[r]);
    for (int raised = 0; raised < 5 && 3 * all.size() > 4 * k_; ++raised) all = that_reach(values[r], local[r] *= 1.03);
    if (3 * all.size() < 2 * k_)
      local[r] /= 1.012;
    else if (4 * all.size() > 5 * k_)
      local[r] *= 1.012;
    return all;
  }

  bool adapts_;
  std::size_t k_;

 public:
  std::vector<std::vector<float>> values;  // by rank: in, with the residual; out, the residual
  std::vector<double> local;
  std::vector<std::vector<std::uint32_t>> chosen;
  std::vector<float> sum;
  double global = 0;
};

}  // namespace

TEST_CASE("ok-topk-published and -adapting are algorithm 1 and the authors' program, step by step", "[topk]") {
  const int P = GENERATE(2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  const bool adapts = GENERATE(false, true);
  const int growth = GENERATE(0, 3);  // of gradients, so that thresholds choose far more than k
  const std::string algorithm = adapts ? "ok-topk-adapting(7,3)" : "ok-topk-published(7,3)";
  INFO(algorithm << ", P = " << P << ", growth " << growth);
  const TopKCase c{1009, 50, bench::Distribution::power_law};
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          const auto r = static_cast<std::size_t>(transport.rank());
          TopKAllreduce<float> allreduce(transport, c.elements, {.algorithm = algorithm});
          Plain plain(adapts, P, c);
          std::vector<float> values(c.elements);
          bool chose_more = false;
          for (std::size_t step = 0; step < 20; ++step) {
            const std::string what = "step " + std::to_string(step) + ": ";
            for (int q = 0; q < P; ++q) {
              const auto gradient = whole_gradient<float>(c, q, step, 1 + growth * static_cast<int>(step));
              for (std::size_t i = 0; i < c.elements; ++i) plain.values[static_cast<std::size_t>(q)][i] += gradient[i];
            }
            values = plain.values[r];
            plain.step(step % 7 == 0);
            const TopKSum<float> result = allreduce.run(values, c.k);
            failures.check(result.chosen == plain.chosen[r].size(), what + "another choice");
            failures.check(in_full(result.sum) == plain.sum, what + "another sum");
            failures.check(values == plain.values[r], what + "another residual");
            failures.check(allreduce.state().selection.threshold == plain.local[r], what + "another local threshold");
            failures.check(allreduce.state().global_threshold == plain.global, what + "another global threshold");
            failures.check(result.evaluated_local == (step % 7 == 0), what + "evaluated otherwise");
            failures.check(result.evaluated_global == (step % 7 == 0), what + "evaluated sums otherwise");
            chose_more |= result.chosen > 2 * c.k + 100;
          }
          failures.check(adapts || growth == 0 || chose_more, "thresholds were not kept: never far more than k");
        }) == "");
}

TEST_CASE("topk by a named algorithm is summed by that one", "[topk]") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          for (const std::string name : {"allgather", "topk-dsa", "ssar-split-allgather"}) {
            TopKAllreduce<float> allreduce(transport, 1000, {.algorithm = "topk(" + name + ")"});
            std::vector<float> values = whole_gradient<float>({1000, 40, bench::Distribution::uniform}, 1, 0);
            const std::string ran = allreduce.run(values, 40).algorithm;
            failures.check(ran.starts_with("topk, summed by " + name), ran);
          }
          std::vector<float> values(10, 5);
          TopKAllreduce<float> bf16(transport, 10, {.algorithm = "topk(topk-dsa)", .wire = Wire::bf16});
          const std::string error = argument_error_of([&] { static_cast<void>(bf16.run(values, 2)); });
          failures.check(error.ends_with("the algorithm that sums in topk(topk-dsa) is topk-dsa, expected allgather "
                                         "where wire is bf16"),
                         error);
        }) == "");
}

}  // namespace published
