// The sweep that every outer-product algorithm must pass, over any transport.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "outer_product_cases.hpp"
#include "sent_by_calls.hpp"
#include "turns.hpp"

namespace dsop::tests {

/// A case and what it must give, the same for all ranks of a process.
struct SweepCase {
  explicit SweepCase(const Case& c) : f32(c), f64(c) {}
  Expected<float> f32;
  Expected<double> f64;
};

inline std::vector<SweepCase> sweep_cases(int P) {
  std::vector<SweepCase> cases;
  for (const Case& c : all_cases(P)) cases.emplace_back(c);
  for (const Case& c : sparse_cases(P)) cases.emplace_back(c);
  return cases;
}

/// Calls fail(text) for every case of every algorithm that goes wrong, or that sends other messages and bytes than its
/// formula states.
template <class Fail>
void sweep_outer_products(Transport& transport, const std::vector<SweepCase>& cases, Fail fail) {
  const auto report = [&](const std::string& text) {
    if (!text.empty()) fail(text);
  };
  const std::vector<std::string> algorithms = usable_algorithms(transport);
  SentByCalls sent;
  for (std::size_t c = 0; c < cases.size(); ++c)
    for (std::size_t a = 0; a < algorithms.size(); ++a) {
      if (!has_turn(algorithms[a], a, c, transport.size())) continue;
      const std::size_t turn = c / 24 + a + static_cast<std::size_t>(transport.size());
      const std::size_t every = transport.size() > 4 ? 2 : 1;
      if (takes_turn(turn, every)) report(cases[c].f32.wrong_elements(transport, algorithms[a], sent));
      if (takes_turn(turn + 1, every))
        report(every == 1 ? cases[c].f64.wrong_elements(transport, algorithms[a])
                          : cases[c].f64.wrong_elements(transport, algorithms[a], sent));
    }
  sent.check_busiest(transport, fail);
}

/// Calls fail(text) for every algorithm whose ranks come to hold different bits.
template <class Fail>
void sweep_bits(Transport& transport, Fail fail) {
  const auto report = [&](const std::string& text) {
    if (!text.empty()) fail(text);
  };
  constexpr struct {
    std::size_t pairs;
    bench::Densities densities;
  } kinds[] = {{1, {}}, {60, {0.05, 0.1}}, {7, {}}, {7, {0.3, 0.3}}, {60, {}}, {20, {0.05, 1}}};
  const std::vector<std::string> algorithms = usable_algorithms(transport);
  for (std::size_t a = 0; a < algorithms.size(); ++a)
    for (std::size_t c = 0; c < std::size(kinds); ++c) {
      if (!takes_turn(a + c + static_cast<std::size_t>(transport.size()), transport.size() > 4 ? 6 : 3)) continue;
      report(different_bits<float>(transport, algorithms[a], 67, 45, kinds[c].pairs, kinds[c].densities));
      report(different_bits<double>(transport, algorithms[a], 45, 67, kinds[c].pairs, kinds[c].densities));
    }
}

}  // namespace dsop::tests
