// The sweep that every outer-product algorithm must pass, over any transport.
#pragma once

#include <cstring>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <dsop/algorithms.hpp>
#include <dsop/dsop.hpp>

#include "inputs.hpp"
#include "outer_product/algorithm.hpp"

namespace dsop::tests {

struct Case {
  std::size_t n;
  std::size_t m;
  std::vector<std::size_t> pairs;  // of each rank
  double scale;
  bool accumulate;
  std::size_t gap;  // elements between two rows of a, b and G

  std::string text() const {
    std::ostringstream text;
    text << n << " x " << m << ", pairs";
    for (const std::size_t k : pairs) text << ' ' << k;
    text << ", scale " << scale << (accumulate ? ", accumulating" : "") << ", gap " << gap;
    return text.str();
  }
};

inline std::vector<std::vector<std::size_t>> pair_patterns(int P) {
  const auto ranks = static_cast<std::size_t>(P);
  std::vector<std::size_t> unequal;
  for (std::size_t r = 0; r < ranks; ++r) unequal.push_back(r % 3);
  std::vector<std::size_t> only_last(ranks, 0);
  only_last[ranks - 1] = 5;
  std::vector<std::size_t> all_but_first(ranks, 2);
  all_but_first[0] = 0;
  return {std::vector<std::size_t>(ranks, 1), std::vector<std::size_t>(ranks, 3), unequal, only_last, all_but_first,
          std::vector<std::size_t>(ranks, 0), std::vector<std::size_t>(ranks, 20)};
}

/// Every shape with every pattern of pairs; scale, accumulating and gaps take turns.
inline std::vector<Case> all_cases(int P) {
  constexpr std::pair<std::size_t, std::size_t> shapes[] = {{1, 1},   {1, 7},   {7, 1},  {3, 5},
                                                            {16, 16}, {33, 17}, {50, 64}};
  constexpr double scales[] = {1, 0.5, 2, -1};
  std::vector<Case> cases;
  for (const auto& [n, m] : shapes)
    for (const std::vector<std::size_t>& pairs : pair_patterns(P)) {
      const std::size_t turn = cases.size() % 4;
      cases.push_back({n, m, pairs, scales[turn], turn >= 2, turn % 2 == 1 ? std::size_t{3} : std::size_t{0}});
    }
  return cases;
}

template <class T>
constexpr T untouched = T{-1000};  // what G and its gaps hold before the call

/// Runs the case with whole numbers and compares every element, and every gap, with ==. Returns "" or what is wrong.
template <class T>
std::string wrong_elements(Transport& transport, const std::string& algorithm, const Case& c) {
  const auto k = c.pairs[static_cast<std::size_t>(transport.rank())];
  const bench::InputFactors<T> own(1, transport.rank(), k, c.n, c.m, bench::Values::whole, c.gap);
  std::vector<T> G(c.n * (c.m + c.gap), untouched<T>);
  dsop<T>(transport, own.view(), MatrixView<T>(G.data(), c.n, c.m, c.m + c.gap),
          {.algorithm = algorithm, .scale = c.scale, .accumulate = c.accumulate});

  std::vector<bench::InputFactors<T>> all;
  for (int r = 0; r < transport.size(); ++r)
    all.emplace_back(1, r, c.pairs[static_cast<std::size_t>(r)], c.n, c.m, bench::Values::whole, c.gap);
  for (std::size_t i = 0; i < c.n; ++i) {
    std::vector<T> expected(c.m, c.accumulate ? untouched<T> : T{0});
    for (const auto& factors : all) bench::add_reference_row<T>(factors.view(), i, static_cast<T>(c.scale), expected);
    expected.resize(c.m + c.gap, untouched<T>);
    for (std::size_t j = 0; j < expected.size(); ++j)
      if (!(G[i * (c.m + c.gap) + j] == expected[j]))
        return algorithm + " " + std::string(name(data_type<T>)) + ", " + c.text() + ": rank " +
               std::to_string(transport.rank()) + " has G(" + std::to_string(i) + "," + std::to_string(j) +
               ") = " + std::to_string(G[i * (c.m + c.gap) + j]) + ", expected " + std::to_string(expected[j]);
  }
  return "";
}

/// Whether all ranks hold the same bits.
template <class T>
bool same_bits_everywhere(Transport& transport, std::span<const T> elements) {
  std::vector<T> of_rank_zero(elements.begin(), elements.end());
  const std::span<T> all(of_rank_zero);
  if (transport.rank() == 0)
    for (int r = 1; r < transport.size(); ++r) transport.send(all, r);
  else
    transport.recv(all, 0);
  return std::memcmp(of_rank_zero.data(), elements.data(), elements.size_bytes()) == 0;
}

/// Runs the algorithm twice on fractions and compares the bits with rank 0's, and the second run's with the first's.
template <class T>
std::string different_bits(Transport& transport, const std::string& algorithm, std::size_t n, std::size_t m,
                           std::size_t k) {
  const bench::InputFactors<T> own(7, transport.rank(), k, n, m, bench::Values::fractions);
  std::vector<T> first(n * m);
  std::vector<T> second(n * m);
  const Options options{.algorithm = algorithm, .scale = 1.0 / 3};
  dsop<T>(transport, own.view(), MatrixView<T>(first.data(), n, m), options);
  dsop<T>(transport, own.view(), MatrixView<T>(second.data(), n, m), options);
  const std::string what = algorithm + " " + std::string(name(data_type<T>)) + " " + std::to_string(n) + " x " +
                           std::to_string(m) + ", " + std::to_string(k) + " pairs a rank: bits of rank " +
                           std::to_string(transport.rank());
  if (!same_bits_everywhere<T>(transport, first)) return what + " differ from rank 0's";
  if (std::memcmp(first.data(), second.data(), n * m * sizeof(T)) != 0) return what + " differ in a second run";
  return "";
}

/// The algorithms that `ranks` ranks can use, each with its parameter left open and with the first, the middle and the
/// last of the values that the planner considers.
inline std::vector<std::string> usable_algorithms(int ranks, bool native_collectives) {
  Problem problem{.rows = 64, .columns = 64, .pairs = std::vector<std::size_t>(static_cast<std::size_t>(ranks), 1)};
  problem.native_collectives = native_collectives;
  std::vector<std::string> names;
  for (const OuterProductAlgorithm& algorithm : outer_product_algorithms()) {
    if (!algorithm.unsupported(algorithm, problem).empty()) continue;
    names.push_back(algorithm.name);
    if (algorithm.parameter.name.empty()) continue;
    const std::vector<double> values = algorithm.parameter.values(algorithm, problem);
    for (const double value : std::set{values.front(), values[values.size() / 2], values.back()})
      names.push_back(algorithm_text(algorithm, value));
  }
  return names;
}

inline std::vector<std::string> usable_algorithms(const Transport& transport) {
  return usable_algorithms(transport.size(), transport.has_native_collectives());
}

/// Calls fail(text) for every case of every algorithm that goes wrong.
template <class Fail>
void sweep_outer_products(Transport& transport, Fail fail) {
  const auto report = [&](const std::string& text) {
    if (!text.empty()) fail(text);
  };
  for (const std::string& algorithm : usable_algorithms(transport)) {
    for (const Case& c : all_cases(transport.size())) {
      report(wrong_elements<float>(transport, algorithm, c));
      report(wrong_elements<double>(transport, algorithm, c));
    }
    for (const std::size_t k : {1UL, 7UL, 60UL}) {
      report(different_bits<float>(transport, algorithm, 67, 45, k));
      report(different_bits<double>(transport, algorithm, 45, 67, k));
    }
  }
}

}  // namespace dsop::tests
