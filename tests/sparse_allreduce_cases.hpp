// Sparse vectors of all sorts, and what must come out of their sum.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <dsop/sparse_allreduce.hpp>

#include "algorithms/sparse/algorithm.hpp"
#include "failures.hpp"
#include "inputs.hpp"
#include "sparse_inputs.hpp"

namespace dsop::tests {

enum class Spread {
  uniform,     ///< by chance
  power_law,   ///< by chance, a few the same on all ranks and ever fewer of the others, as words of a language are
  clustered,   ///< by chance, most of them in a tenth of the vector, another on each rank
  one_region,  ///< all at the end of the vector
  same,        ///< the same on all ranks, evenly spread
  apart,       ///< no two the same, evenly spread
  unequal,     ///< by chance, none on some ranks, all elements on others
};

struct SparseCase {
  std::size_t dimension;
  std::size_t nonzeros;  // of each rank, about so many
  Spread spread;

  std::string text() const {
    return "dimension " + std::to_string(dimension) + ", " + std::to_string(nonzeros) + " nonzeros, spread " +
           std::to_string(static_cast<int>(spread));
  }
};

/// Which elements rank r of P has.
inline std::vector<bool> elements_of(const SparseCase& c, int r, int P) {
  const std::size_t N = c.dimension;
  const auto rank = static_cast<std::size_t>(r);
  std::vector<bool> has(N);
  const auto by_chance = [&](std::size_t first, std::size_t size, std::size_t count) {
    for (std::size_t j = 0; j < count && size > 0; ++j) has[first + bench::mix(1000 * rank + j) % size] = true;
  };
  if (N == 0) return has;
  const std::size_t step = N / std::max(c.nonzeros, std::size_t{1});
  switch (c.spread) {
    case Spread::uniform:
      by_chance(0, N, c.nonzeros);
      break;
    case Spread::power_law: {
      const bench::Chances chances(N, static_cast<double>(c.nonzeros) / static_cast<double>(N),
                                   bench::Distribution::power_law);
      for (std::size_t i = 0; i < N; ++i) has[i] = bench::Chances::uniform(bench::mix(rank + 1) + i) < chances.of(r, i);
      break;
    }
    case Spread::clustered:
      by_chance((N - N / 10) / static_cast<std::size_t>(P) * rank, N / 10, c.nonzeros - c.nonzeros / 4);
      by_chance(0, N, c.nonzeros / 4);
      break;
    case Spread::one_region:
      by_chance(N - N / 20, N / 20, c.nonzeros);
      break;
    case Spread::same:
      for (std::size_t j = 0; j < c.nonzeros; ++j) has[j * step] = true;
      break;
    case Spread::apart:
      for (std::size_t j = 0; j < c.nonzeros; ++j) has[j * step + rank] = true;
      break;
    case Spread::unequal:
      if (r % 3 == 1) by_chance(0, N, c.nonzeros);
      if (r % 3 == 2) std::fill(has.begin(), has.end(), true);
      break;
  }
  return has;
}

/// A rank's vector; every rank can make every other's. Whole numbers from 1 to 9.
template <class T>
class SparseInput {
 public:
  SparseInput(const SparseCase& c, int rank, int P) : dimension_(c.dimension) {
    const std::vector<bool> has = elements_of(c, rank, P);
    for (std::size_t i = 0; i < c.dimension; ++i)
      if (has[i]) {
        indices_.push_back(static_cast<std::uint32_t>(i));
        values_.push_back(static_cast<T>(1 + bench::mix(i + 77 * static_cast<std::uint64_t>(rank)) % 9));
      }
  }
  SparseVectorView<T> view() const { return {dimension_, indices_, values_}; }
  void add_to(std::vector<T>& sum, T factor = T{1}) const {
    for (std::size_t e = 0; e < indices_.size(); ++e) sum[indices_[e]] += factor * values_[e];
  }
  std::vector<T>& values() { return values_; }

 private:
  std::size_t dimension_;
  std::vector<std::uint32_t> indices_;
  std::vector<T> values_;
};

/// All elements, zeros too, of a vector in either form; empty if its indices do not rise or lie outside.
template <class T>
std::vector<T> in_full(const SparseVectorView<T>& x) {
  if (x.dense()) return {x.values.begin(), x.values.end()};
  std::vector<T> elements(x.dimension);
  for (std::size_t e = 0; e < x.indices.size(); ++e) {
    if (x.indices[e] >= x.dimension || (e > 0 && x.indices[e] <= x.indices[e - 1])) return {};
    elements[x.indices[e]] = x.values[e];
  }
  return elements;
}

inline std::vector<SparseCase> sparse_allreduce_cases(int P) {
  const auto ranks = static_cast<std::size_t>(P);
  return {
      {0, 0, Spread::uniform},        {1, 1, Spread::uniform},        {5, 2, Spread::uniform},
      {ranks + 2, 1, Spread::apart},  {1000, 0, Spread::uniform},     {1000, 3, Spread::uniform},
      {1003, 40, Spread::uniform},    {1000, 300, Spread::uniform},   {1009, 60, Spread::clustered},
      {1500, 70, Spread::one_region}, {1024, 16, Spread::same},       {997, 200, Spread::same},
      {2048, 16, Spread::apart},      {1009, 25, Spread::apart},      {601, 20, Spread::unequal},
      {1000, 30, Spread::power_law},  {1009, 250, Spread::power_law},
  };
}

/// Those whose messages can be counted, and so can run on threads; of a sparse one that leaves a number open, with each
/// that the planner tries, and with some that it does not: one, three, and more than there are ranks.
inline std::vector<std::string> sparse_names(int P, Wire wire = Wire::full) {
  const SparseProblem problem{
      .elements = 1000, .nonzeros = std::vector<std::size_t>(static_cast<std::size_t>(P), 1), .wire = wire};
  std::vector<std::string> names;
  for (const SparseAlgorithm& algorithm : sparse_algorithms()) {
    if (algorithm.native() || !why_unsupported(algorithm, problem).empty()) continue;
    if (algorithm.dense != nullptr) {
      names.push_back(algorithm.name);
      continue;
    }
    std::vector<double> numbers = algorithm.parameter.values(algorithm, problem);
    if (!algorithm.parameter.name.empty())
      for (const double other : {1.0, 3.0, P + 1.0})
        if (std::find(numbers.begin(), numbers.end(), other) == numbers.end()) numbers.push_back(other);
    for (const double number : numbers) names.push_back(algorithm_text(algorithm, number));
  }
  return names;
}

/// Every case for what is sparse; what is tested as a dense algorithm elsewhere, and "auto", take turns.
inline std::vector<std::string> names_in_turn(int P, std::size_t turn) {
  std::vector<std::string> names;
  std::vector<std::string> others{"auto"};
  for (const std::string& name : sparse_names(P)) (name.starts_with("dense-") ? others : names).push_back(name);
  names.push_back(others[turn % others.size()]);
  return names;
}

/// A case and its sum, which is the same for all ranks of a process.
template <class T>
struct SparseCaseSum {
  SparseCase c;
  std::vector<T> sum;
};

template <class T>
std::vector<SparseCaseSum<T>> sparse_case_sums(int P) {
  std::vector<SparseCaseSum<T>> sums;
  for (const SparseCase& c : sparse_allreduce_cases(P)) {
    sums.push_back({c, std::vector<T>(c.dimension)});
    for (int q = 0; q < P; ++q) SparseInput<T>(c, q, P).add_to(sums.back().sum);
  }
  return sums;
}

/// All cases with all algorithms, whole numbers and ==.
template <class T>
void check_sparse_sums(Transport& transport, const std::vector<SparseCaseSum<T>>& cases, Failures& failures) {
  const int P = transport.size();
  const int r = transport.rank();
  std::size_t turn = 0;
  for (const auto& [c, expected] : cases) {
    const SparseInput<T> own(c, r, P);
    const std::vector<T> own_in_full = in_full(own.view());
    for (const std::string& algorithm : names_in_turn(P, turn)) {
      const bool in_full_here = ++turn % 4 == 0 && r % 2 == 1;
      const SparseVectorView<T> given = in_full_here ? SparseVectorView<T>{c.dimension, {}, own_in_full} : own.view();
      const SparseSum<T> result = sparse_allreduce<T>(transport, given, {.algorithm = algorithm});
      const std::string what = algorithm + ", P = " + std::to_string(P) + ", " + c.text();
      failures.check(in_full(result.sum) == expected, what + " is wrong");
      failures.check(result.sum.values.size_bytes() + result.sum.indices.size_bytes() <= c.dimension * sizeof(T),
                     what + " is larger than dense");
      failures.check(algorithm == "auto" || result.algorithm.starts_with(algorithm), what + " was made by another");
    }
  }
}

}  // namespace dsop::tests
