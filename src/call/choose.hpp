// Which of a family's algorithms serves a call: all are evaluated by their cost formulas and put in the order in which
// `auto` takes them.
#pragma once

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dsop/errors.hpp>
#include <dsop/plan.hpp>

#include "base/named.hpp"
#include "base/registry.hpp"

namespace dsop {

// A Family, to choose(), is an object with
//   const Problem& problem(const Algorithm&)               as the algorithm sees it
//   Candidate evaluate(const Algorithm&, double parameter)
//   bool may_take_native(const Algorithm&)                 where `auto` may take what runs inside MPI
// beside why_unsupported(const Algorithm&, const Problem&), empty if it can serve.

/// Whether it runs inside the MPI library: its time is a guess.
template <class Algorithm>
bool is_native(const Algorithm& algorithm) {
  if constexpr (requires { algorithm.native(); })
    return algorithm.native();
  else
    return algorithm.native;
}

/// Which algorithms are evaluated: all, or those that the choice needs. Then the plan has the chosen candidate alone.
enum class Evaluated : unsigned char { all, named };

/// The time by which `auto` compares candidates: a call's, the algorithm's part of it times needed_lead.
inline double compared_seconds(const Candidate& candidate) {
  return candidate.seconds() + (candidate.needed_lead - 1) * candidate.cost.seconds();
}

// An algorithm's parameter is a function of the algorithm and the problem, or of the problem alone.
template <class Algorithm, class Problem>
std::vector<double> values_of(const Algorithm& algorithm, const Problem& problem) {
  if constexpr (requires { algorithm.parameter.values(algorithm, problem); })
    return algorithm.parameter.values(algorithm, problem);
  else
    return algorithm.parameter.values(problem);
}
template <class Algorithm, class Problem>
std::string expected_of(const Algorithm& algorithm, double value, const Problem& problem) {
  if constexpr (requires { algorithm.parameter.expected(value, algorithm, problem); })
    return algorithm.parameter.expected(value, algorithm, problem);
  else
    return algorithm.parameter.expected(value, problem);
}

/// Empty if the algorithm can serve with the parameter that was named.
template <class Family, class Algorithm>
std::string why_not(const Family& family, const Named<Algorithm>& named) {
  const Algorithm& algorithm = *named.algorithm;
  const auto& problem = family.problem(algorithm);
  if (const std::string reason = why_unsupported(algorithm, problem); !reason.empty())
    return "algorithm " + algorithm.name + " can't be used: it " + reason;
  if (!named.parameter) return {};
  const std::string expected = expected_of(algorithm, *named.parameter, problem);
  return expected.empty() ? ""
                          : "algorithm is " + algorithm_text(algorithm, *named.parameter) + ", expected " + expected;
}

/// With the parameter that the caller named, or with the best of its values.
template <class Family, class Algorithm>
Candidate evaluate_best(const Family& family, const Algorithm& algorithm, const Named<Algorithm>& named) {
  const auto& problem = family.problem(algorithm);
  if (std::string reason = why_unsupported(algorithm, problem); !reason.empty())
    return {algorithm.name, 0, {}, std::move(reason)};
  if (named.algorithm == &algorithm && named.parameter) return family.evaluate(algorithm, *named.parameter);
  std::optional<Candidate> best;
  for (const double value : values_of(algorithm, problem)) {
    Candidate candidate = family.evaluate(algorithm, value);
    if (!best || compared_seconds(candidate) < compared_seconds(*best)) best = std::move(candidate);
  }
  return *best;
}

template <class Algorithm>
struct Ranked {
  const Algorithm* algorithm;
  Candidate candidate;
  bool is_left_out;  ///< it may be named, but `auto` never takes it
};

template <class Family, class Algorithm>
bool is_left_out(const Family& family, const Algorithm& algorithm) {
  if constexpr (requires { algorithm.published; })
    if (algorithm.published) return true;
  return is_native(algorithm) && !family.may_take_native(algorithm);
}

/// Sorts by compared_seconds(). Algorithms that `auto` must not take follow, then those that can't serve.
template <class Algorithm>
void rank(std::vector<Ranked<Algorithm>>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Ranked<Algorithm>& l, const Ranked<Algorithm>& r) {
    const bool possible = l.candidate.unsupported.empty();
    if (possible != r.candidate.unsupported.empty()) return possible;
    if (l.is_left_out != r.is_left_out) return r.is_left_out;
    return compared_seconds(l.candidate) < compared_seconds(r.candidate);
  });
}

/// Why the first of the ranked is taken. An algorithm may stand there under two names, as an allgather over the
/// cheapest pattern and as one over that very pattern: both send the same messages.
template <class Algorithm>
std::string why_first(const std::vector<Ranked<Algorithm>>& ranked) {
  const Candidate& first = ranked[0].candidate;
  if (!(first.cost.seconds() > 0)) return "nothing to do";
  if (first.piggybacks) return "the factors are so few that they ride in the agreement";
  const auto find = [&](auto is_it) {
    const auto found = std::find_if(ranked.begin(), ranked.end(), [&](const Ranked<Algorithm>& r) {
      return r.candidate.unsupported.empty() && !r.is_left_out && is_it(r.candidate.seconds());
    });
    return found == ranked.end() ? nullptr : &found->candidate;
  };
  const Candidate* const faster = find([&](double seconds) { return seconds < first.seconds(); });
  if (faster != nullptr) return "least predicted time but for " + faster->algorithm + ", which is not far enough ahead";
  const Candidate* const next = find([&](double seconds) { return seconds > first.seconds(); });
  if (next == nullptr) return "the only one that can serve";
  char times[32];
  std::snprintf(times, sizeof times, "%.2f", next->seconds() / first.seconds());
  return std::string("least predicted time, ") + times + "x ahead of " + next->algorithm;
}

/// Says in the plan which algorithm serves the call, why, and which were considered. `name` is an algorithm's, perhaps
/// with its parameter, or "auto": the least predicted time, of those that run inside the MPI library only if the family
/// allows it. Throws ArgumentError when the name is unknown (the text lists the known ones), or when it can't serve.
/// The same on all ranks that ask the same.
template <class Family, class Algorithm, class OfProblem>
void choose(PlanOf<Algorithm, OfProblem>& plan, const Family& family, const Registry<Algorithm>& registry,
            const std::string& name, Evaluated evaluated = Evaluated::all) {
  Named<Algorithm> named;
  if (name != "auto") {
    named = parse_algorithm(name, "algorithm", registry);
    if (const std::string reason = why_not(family, named); !reason.empty()) throw ArgumentError(reason);
  }
  std::vector<Ranked<Algorithm>> ranked;
  for (const Algorithm& algorithm : registry)
    if (evaluated == Evaluated::all || named.algorithm == nullptr || named.algorithm == &algorithm)
      ranked.push_back({&algorithm, evaluate_best(family, algorithm, named), is_left_out(family, algorithm)});
  rank(ranked);
  const auto& chosen = named.algorithm == nullptr
                           ? ranked.front()
                           : *std::ranges::find(ranked, named.algorithm, &Ranked<Algorithm>::algorithm);
  plan.algorithm = chosen.algorithm;
  plan.parameter = chosen.candidate.parameter;
  plan.reason = named.algorithm == nullptr ? why_first(ranked) : "named by the caller";
  plan.candidates.clear();
  for (auto& [algorithm, candidate, left_out] : ranked) {
    if (algorithm != plan.algorithm) candidate.exchanges = {};  // a number a rank each
    if (evaluated == Evaluated::all || algorithm == plan.algorithm) plan.candidates.push_back(std::move(candidate));
  }
}

}  // namespace dsop
