// Gradients of which few elements are large, steps with residuals, and what every selecting allreduce must keep to.
#pragma once

#include <bit>
#include <cstddef>
#include <string>
#include <vector>

#include <dsop/sparse_allreduce.hpp>
#include <dsop/topk_allreduce.hpp>

#include "algorithms/selection/cut.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "algorithms/topk/residual.hpp"
#include "base/mix.hpp"
#include "failures.hpp"
#include "patterns/of_all_ranks.hpp"
#include "sparse_allreduce_cases.hpp"
#include "sparse_inputs.hpp"
#include "turns.hpp"

namespace dsop::tests {

struct TopKCase {
  std::size_t elements;
  std::size_t k;
  bench::Distribution distribution;  // of the large ones, of which there are about k

  std::string text() const {
    return std::to_string(elements) + " elements, k = " + std::to_string(k) + ", " + bench::name(distribution);
  }
};

inline std::vector<TopKCase> topk_cases(int P) {
  using enum bench::Distribution;
  const auto ranks = static_cast<std::size_t>(P);
  return {{0, 0, uniform},        {1, 1, uniform},     {5, 2, uniform},       {ranks + 2, 3, uniform},
          {1000, 0, uniform},     {1009, 50, uniform}, {1003, 50, power_law}, {1024, 64, clustered},
          {2000, 40, one_region}, {300, 200, uniform}, {257, 257, power_law}, {4000, 16 * ranks, uniform}};
}

/// All names of the family that can travel so, those with a number with one that makes few steps go through all that
/// they do, or buckets not so small that none of a vector's is given one of k.
inline std::vector<std::string> topk_names(Wire wire = Wire::full) {
  std::vector<std::string> names;
  for (const TopKAlgorithm& algorithm : topk_algorithms())
    names.push_back(algorithm.parameter.name.empty()           ? algorithm.name
                    : algorithm.name.ends_with("-per-bucket")  ? algorithm.name + "(100)"
                    : !algorithm.second_parameter.name.empty() ? algorithm.name + "(2,3)"
                                                               : algorithm.name + "(2)");
  for (const SparseAlgorithm& algorithm : sparse_algorithms())
    if (algorithm.name == "allgather" || (wire == Wire::full && !algorithm.name.starts_with("dense")))
      names.push_back("topk(" + algorithm.name + ")");
  return names;
}

/// A rank's gradient of a step: whole numbers, -1 to 1, and about k up to 40, all times `unit`.
template <class T>
std::vector<T> whole_gradient(const TopKCase& c, int rank, std::size_t step, int unit = 1) {
  std::vector<T> gradient(c.elements);
  if (c.elements == 0) return gradient;
  const double density = static_cast<double>(c.k) / static_cast<double>(c.elements);
  const bench::Chances chances(c.elements, density, c.distribution);
  const std::uint64_t seed = bench::mix(100 * static_cast<std::uint64_t>(rank) + step + 1);
  for (std::size_t i = 0; i < c.elements; ++i) {
    const bool large = bench::Chances::uniform(seed + i) < chances.of(rank, i);
    const auto bits = static_cast<int>(bench::mix(seed ^ bench::mix(i)) % 81) - 40;
    gradient[i] = static_cast<T>(unit * (large ? bits : bits / 30));
  }
  return gradient;
}

template <class T>
std::uint64_t hash_of(const SparseVectorView<T>& x) {
  std::uint64_t hash = bench::mix(x.dimension);
  for (const std::byte byte : std::as_bytes(x.values)) hash = bench::mix(hash ^ static_cast<std::uint64_t>(byte));
  for (const std::uint32_t index : x.indices) hash = bench::mix(hash ^ index);
  return hash;
}

inline bool same_on_all_ranks(Transport& transport, std::uint64_t number) {
  const std::vector<std::uint64_t> numbers = patterns::of_all_ranks(transport, number);
  return std::count(numbers.begin(), numbers.end(), number) == transport.size();
}

/// Whether the sum has element i: where it is dense, as one that is not zero.
template <class T>
bool has(const SparseVectorView<T>& sum, std::uint32_t i) {
  if (sum.dense()) return sum.values[i] != 0;
  return std::binary_search(sum.indices.begin(), sum.indices.end(), i);
}

/// What a rank chooses of its values, step after step: the same as the selecting allreduce in a test.
template <class T>
class SameChoice {
 public:
  SameChoice(const std::string& text, int rank)
      : algorithm_(*parse_topk(text).algorithm),
        selector_(algorithm_.parameter.name.empty()
                      ? algorithm_.selection
                      : algorithm_.selection + '(' + number_text(parse_topk(text).parameter) + ')',
                  {.seed = mix(SelectionState{}.seed) + static_cast<std::uint64_t>(rank)}) {}

  /// In the order of indices; zeros are sent by those alone that send k in any case.
  std::vector<std::uint32_t> of(const std::vector<T>& values, std::size_t k) {
    std::vector<std::uint32_t> indices(capacity(algorithm_, k, values.size()));
    std::vector<T> chosen(indices.size());
    if (!values.empty()) indices.resize(selector_.select(values, k, indices, chosen).chosen);
    if (!algorithm_.sends_k) std::erase_if(indices, [&](std::uint32_t i) { return values[i] == 0; });
    return indices;
  }
  /// Which of them must have taken part.
  std::vector<std::uint32_t> that_took_part(std::vector<std::uint32_t> chosen, const SparseVectorView<T>& sum) const {
    if (!sums_exactly()) std::erase_if(chosen, [&](std::uint32_t i) { return !has(sum, i); });
    return chosen;
  }
  bool keeps_thresholds() const { return algorithm_.keeps_thresholds; }
  bool sums_exactly() const { return !algorithm_.exact_sum.empty(); }

 private:
  const TopKAlgorithm& algorithm_;
  Selector<T> selector_;
};

/// A few steps with residuals: nothing is lost, the bits are the same, and what took part is named. For bf16 values of
/// more bits than that has. What takes messages is checked once for all steps, each of which has its own weight.
template <class T>
void check_topk_steps(Transport& transport, const TopKCase& c, const std::string& algorithm, std::size_t steps,
                      Failures& failures, Wire wire = Wire::full) {
  const bool rounds = wire == Wire::bf16 && transport.size() > 1;
  TopKAllreduce<T> allreduce(transport, c.elements, {.algorithm = algorithm, .wire = wire});
  SameChoice<T> choice(algorithm, transport.rank());
  std::vector<T> values(c.elements);
  std::vector<T> all_gone(c.elements);
  std::vector<T> all_sums(c.elements);
  std::uint64_t bits = 0;
  const std::string what_case =
      algorithm + (rounds ? " by bf16" : "") + ", P = " + std::to_string(transport.size()) + ", " + c.text();
  for (std::size_t step = 0; step < steps; ++step) {
    const std::string what = what_case + ", step " + std::to_string(step);
    const std::vector<T> gradient = whole_gradient<T>(c, transport.rank(), step, rounds ? 37 : 1);
    std::vector<T> gone(c.elements);
    for (std::size_t i = 0; i < c.elements; ++i) gone[i] = values[i] += gradient[i];
    const std::vector<std::uint32_t> chosen = choice.of(values, c.k);
    const TopKSum<T> result = allreduce.run(values, c.k);
    failures.check(result.chosen == chosen.size(), what + ": another choice");
    failures.check(std::ranges::equal(result.took_part, choice.that_took_part(chosen, result.sum)),
                   what + ": other indices than took part");
    const bool drops = algorithm == "gtopk";  // on the way up its tree, where half of the ranks only send
    std::vector<T> left = gone;
    for (const std::uint32_t i : drops ? std::span<const std::uint32_t>(chosen) : result.took_part)
      left[i] = rounds ? topk::rounded_off(left[i], wire) : 0;
    const bool owners_round = rounds && !choice.sums_exactly();
    for (std::uint32_t i = 0; i < c.elements; ++i) {
      const bool more_is_left = drops ? transport.rank() % 2 == 0 : owners_round && has(result.sum, i);
      failures.check(values[i] == left[i] || more_is_left, what + ": another residual");
    }
    for (const T value : result.sum.values)
      if (owners_round) failures.check(topk::rounded_off(value, wire) == 0, what + ": a sum that was not rounded");
    const std::vector<T> sum = in_full(result.sum);
    failures.check(sum.size() == c.elements, what + ": the indices do not rise");
    if (sum.size() != c.elements) continue;
    const auto weight = static_cast<T>(step + 1);
    for (std::size_t i = 0; i < c.elements; ++i) all_gone[i] += weight * (gone[i] - values[i]);
    for (std::size_t i = 0; i < c.elements; ++i) all_sums[i] += weight * sum[i];
    bits = bench::mix(bits ^ hash_of(result.sum));
    failures.check(result.sum.values.size_bytes() + result.sum.indices.size_bytes() <= c.elements * sizeof(T),
                   what + ": larger than dense");
    failures.check(c.k < 16 || choice.keeps_thresholds() || !result.sum.values.empty(), what + ": nothing was sent");
    failures.check(allreduce.state().selection.step == (c.elements == 0 ? 0 : step + 1), what + ": miscounted");
  }
  failures.check(in_full(sparse_allreduce<T>(transport, {c.elements, {}, all_gone}).sum) == all_sums,
                 what_case + ": sums and residuals are not what was given");
  failures.check(same_on_all_ranks(transport, bits), what_case + ": the bits differ");
}

/// All cases and all algorithms, by turns.
template <class T>
void check_topk(Transport& transport, Failures& failures) {
  const auto P = static_cast<std::size_t>(transport.size());
  const std::vector<TopKCase> cases = topk_cases(transport.size());
  for (const Wire wire : {Wire::full, Wire::bf16}) {
    const std::vector<std::string> names = topk_names(wire);
    for (std::size_t c = 0; c < cases.size(); ++c)
      for (std::size_t a = 0; a < names.size(); ++a)
        if (takes_turn(c + a + P + (wire == Wire::bf16 ? 1 : 0), P > 4 ? 7 : 2) && can_travel_as(wire, data_type<T>))
          check_topk_steps<T>(transport, cases[c], names[a], wire == Wire::full ? 6 : 3, failures, wire);
  }
}

}  // namespace dsop::tests
