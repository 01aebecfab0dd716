// What all families' plans can tell: the choice, its cost, and what was considered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <ostream>
#include <string>

#include <dsop/plan.hpp>

#include "base/named.hpp"

namespace dsop {

template <class Algorithm, class OfProblem>
const std::string& PlanOf<Algorithm, OfProblem>::algorithm_name() const {
  return algorithm->name;
}

template <class Algorithm, class OfProblem>
std::string PlanOf<Algorithm, OfProblem>::algorithm_text() const {
  return dsop::algorithm_text(*algorithm, parameter);
}

template <class Algorithm, class OfProblem>
const Candidate& PlanOf<Algorithm, OfProblem>::chosen() const {
  return *std::ranges::find(candidates, algorithm_text(), &Candidate::algorithm);
}

template <class Algorithm, class OfProblem>
const Cost& PlanOf<Algorithm, OfProblem>::cost() const {
  return chosen().cost;
}

template <class Algorithm, class OfProblem>
double PlanOf<Algorithm, OfProblem>::seconds() const {
  return chosen().seconds();
}

/// "measured 93.000 ms, the median of 16 of 120 calls (the last 95.100), where 66.000 was predicted; ..."
inline void show_measured(std::ostream& out, const Measured& measured) {
  if (measured.calls == 0) return;
  out << std::fixed << std::setprecision(3) << "measured " << measured.median_seconds * 1e3 << " ms, the median of "
      << std::min<std::uint64_t>(measured.calls, 16) << " of " << measured.calls << " calls (the last "
      << measured.last_seconds * 1e3 << ')';
  if (measured.predicted_seconds > 0) out << ", where " << measured.predicted_seconds * 1e3 << " was predicted";
  out << "; before it " << measured.waited_seconds * 1e3 << " ms to agree, waiting for ranks that come later\n";
  if (measured.is_off()) out << "warning: measured and predicted differ by more than 1.3x: calibrate again\n";
}

/// What stands below the problem: the choice, `memory` beside the workspace, and a line for each candidate, with the
/// predicted time of a call or why it can't serve.
template <class Algorithm, class OfProblem>
void show_plan(std::ostream& out, const PlanOf<Algorithm, OfProblem>& plan, const std::string& memory,
               const std::string& note = {}) {
  out << "uses " << plan.algorithm_text() << ": " << plan.reason << '\n'
      << "workspace " << plan.workspace_bytes << " bytes a rank" << memory << '\n';
  if (!plan.warning.empty()) out << "warning: " << plan.warning << '\n';
  show_measured(out, plan.measured);
  out << note;
  std::size_t widest = 0;
  for (const Candidate& candidate : plan.candidates) widest = std::max(widest, candidate.algorithm.size());
  for (const Candidate& candidate : plan.candidates) {
    out << "  " << std::left << std::setw(static_cast<int>(widest)) << candidate.algorithm << std::right;
    if (!candidate.unsupported.empty()) {
      out << "  not possible: " << candidate.unsupported << '\n';
      continue;
    }
    out << std::fixed << std::setprecision(3) << std::setw(12) << candidate.seconds() * 1e3 << " ms  (agreement "
        << candidate.agreement_seconds * 1e3;
    if (candidate.piggybacks)
      out << " with the factors";
    else
      out << ", network " << candidate.cost.communication_seconds * 1e3;
    out << ", arithmetic " << candidate.cost.arithmetic_seconds * 1e3;
    if (candidate.cost.hidden_seconds > 0) out << ", of it hidden " << candidate.cost.hidden_seconds * 1e3;
    out << ")\n";
  }
}

}  // namespace dsop
