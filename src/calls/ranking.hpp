// A family's algorithms, evaluated and put in the order in which `auto` takes them.
#pragma once

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dsop/plan.hpp>

#include "base/named.hpp"

namespace dsop {

template <class Algorithm>
struct Ranked {
  const Algorithm* algorithm;
  bool native;
  Candidate candidate;
};

/// With the best of the parameter's values, or with the one that the caller named: evaluate(value) gives a candidate.
/// By this time `auto` compares.
inline double compared_seconds(const Candidate& candidate) {
  return candidate.cost.seconds() * candidate.needed_lead;
}

/// `unsupported` is empty, or why the algorithm can't serve; `subject` is what its parameter's functions are given.
template <class Algorithm, class Evaluate, class... Subject>
Candidate evaluate_best(const Algorithm& algorithm, const Named<Algorithm>& named, std::string unsupported,
                        Evaluate evaluate, const Subject&... subject) {
  if (!unsupported.empty()) return {algorithm.name, 0, {}, std::move(unsupported)};
  if (named.algorithm == &algorithm && named.parameter) return evaluate(*named.parameter);
  std::optional<Candidate> best;
  for (const double value : algorithm.parameter.values(subject...)) {
    Candidate candidate = evaluate(value);
    if (!best || compared_seconds(candidate) < compared_seconds(*best)) best = std::move(candidate);
  }
  return *best;
}

/// By compared_seconds(); then what runs inside the MPI library, since its time is a guess; last what can't serve.
template <class Algorithm>
void rank(std::vector<Ranked<Algorithm>>& all) {
  std::stable_sort(all.begin(), all.end(), [&](const Ranked<Algorithm>& l, const Ranked<Algorithm>& r) {
    const bool possible = l.candidate.unsupported.empty();
    if (possible != r.candidate.unsupported.empty()) return possible;
    if (l.native != r.native) return r.native;
    return compared_seconds(l.candidate) < compared_seconds(r.candidate);
  });
}

/// Why the first of the ranked is taken. Some make the same messages under two names: an allgather over the cheapest
/// pattern, and over that pattern.
template <class Algorithm>
std::string why_first(const std::vector<Ranked<Algorithm>>& ranked) {
  const double first_seconds = ranked[0].candidate.cost.seconds();
  if (!(first_seconds > 0)) return "nothing to do";
  const auto find = [&](auto is_it) {
    const auto found = std::find_if(ranked.begin(), ranked.end(), [&](const Ranked<Algorithm>& r) {
      return r.candidate.unsupported.empty() && !r.native && is_it(r.candidate.cost.seconds());
    });
    return found == ranked.end() ? nullptr : &found->candidate;
  };
  const Candidate* const faster = find([&](double seconds) { return seconds < first_seconds; });
  if (faster != nullptr) return "least predicted time but for " + faster->algorithm + ", which is not far enough ahead";
  const Candidate* const next = find([&](double seconds) { return seconds > first_seconds; });
  if (next == nullptr) return "the only one that can serve";
  char times[32];
  std::snprintf(times, sizeof times, "%.2f", next->cost.seconds() / first_seconds);
  return std::string("least predicted time, ") + times + "x ahead of " + next->algorithm;
}

/// Empty if the algorithm can serve with the parameter that was named. `unsupported` is empty, or why it can't at all;
/// `subject` is what its parameter's functions are given.
template <class Algorithm, class... Subject>
std::string why_not(const Named<Algorithm>& named, const std::string& unsupported, const Subject&... subject) {
  const Algorithm& algorithm = *named.algorithm;
  if (!unsupported.empty()) return "algorithm " + algorithm.name + " can't be used: it " + unsupported;
  if (!named.parameter) return {};
  const std::string expected = algorithm.parameter.expected(*named.parameter, subject...);
  if (expected.empty()) return {};
  return "algorithm is " + algorithm_text(algorithm, *named.parameter) + ", expected " + expected;
}

}  // namespace dsop
