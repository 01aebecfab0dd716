// The sweep that every rival of dsop-bench must pass, over any transport.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "collect.hpp"
#include "compare/rival.hpp"
#include "outer_product_cases.hpp"

namespace dsop::tests {

/// Runs the rival twice with whole numbers into a G full of NaN and compares every element with ==. Returns "" or what
/// is wrong.
template <class T>
std::string wrong_elements(Transport& transport, const bench::Rival& rival, const Case& c) {
  std::vector<bench::InputFactors<T>> all;
  for (int r = 0; r < transport.size(); ++r)
    all.emplace_back(1, r, c.pairs[static_cast<std::size_t>(r)], c.n, c.m, bench::Values::whole, c.gap);
  const Problem problem{c.n, c.m, c.pairs, data_type<T>};
  std::vector<T> elements(c.n * c.m);
  const MatrixView<T> G(elements.data(), c.n, c.m);
  const std::unique_ptr<bench::PreparedRival> ready =
      rival.prepare.of<T>()({transport, problem, all[static_cast<std::size_t>(transport.rank())].view(), G});
  std::string wrong;
  for (int call = 0; call < 2; ++call) {
    std::fill(elements.begin(), elements.end(), std::numeric_limits<T>::quiet_NaN());
    ready->run();
    for (std::size_t i = 0; i < c.n; ++i) {
      std::vector<T> expected(c.m, T{0});
      for (const auto& factors : all) bench::add_reference_row<T>(factors.view(), i, T{1}, expected);
      for (std::size_t j = 0; j < c.m; ++j)
        if (wrong.empty() && !(G.row(i)[j] == expected[j]))
          wrong = rival.name + " " + std::string(name(data_type<T>)) + ", " + c.text() + ": rank " +
                  std::to_string(transport.rank()) + " has G(" + std::to_string(i) + "," + std::to_string(j) +
                  ") = " + std::to_string(G.row(i)[j]) + ", expected " + std::to_string(expected[j]);
    }
  }
  bench::barrier(transport);
  return wrong;
}

/// Calls fail(text) for every case of every rival that goes wrong, at more than two ranks for every third; those that
/// can't run over this transport are left out.
template <class Fail>
void sweep_rivals(Transport& transport, Fail fail) {
  std::size_t number = static_cast<std::size_t>(transport.size());
  for (const bench::Rival& rival : bench::rivals()) {
    if (!rival.unsupported(transport).empty()) continue;
    ++number;
    std::vector<Case> cases;
    const std::vector<std::vector<std::size_t>> patterns = pair_patterns(transport.size());
    for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{1, 1}, {1, 7}, {3, 5}, {33, 17}, {301, 67}})
      for (int i = 0; i < 2; ++i)
        cases.push_back({n, m, patterns[cases.size() % patterns.size()], 1, false, cases.size() % 2});
    for (std::size_t c = 0; c < cases.size(); ++c) {
      if (!takes_turn(number + c, transport.size() > 2 ? 3 : 1)) continue;
      for (const std::string& wrong :
           {wrong_elements<float>(transport, rival, cases[c]), wrong_elements<double>(transport, rival, cases[c])})
        if (!wrong.empty()) fail(wrong);
    }
  }
}

/// What the rival says to have run for a vector of so many elements.
inline std::string used_for(Transport& transport, const bench::Rival& rival, std::size_t elements) {
  const Problem problem{1, elements, std::vector<std::size_t>(static_cast<std::size_t>(transport.size()), 1)};
  const bench::InputFactors<float> own(1, transport.rank(), 1, 1, elements);
  std::vector<float> G(elements);
  const auto ready = rival.prepare.of<float>()({transport, problem, own.view(), {G.data(), 1, elements}});
  ready->run();
  bench::barrier(transport);
  return ready->used();
}

}  // namespace dsop::tests
