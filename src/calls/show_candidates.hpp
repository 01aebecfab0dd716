// The part of a plan that says what was considered.
#pragma once

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <string>
#include <vector>

#include <dsop/plan.hpp>

namespace dsop {

/// The one that is among them.
inline const Candidate& candidate_of(const std::vector<Candidate>& candidates, const std::string& algorithm) {
  return *std::find_if(candidates.begin(), candidates.end(),
                       [&](const Candidate& candidate) { return candidate.algorithm == algorithm; });
}

/// A line each: the predicted time of a call, or why it can't serve.
inline void print_candidates(std::ostream& out, const std::vector<Candidate>& candidates) {
  std::size_t widest = 0;
  for (const Candidate& candidate : candidates) widest = std::max(widest, candidate.algorithm.size());
  for (const Candidate& candidate : candidates) {
    out << "  " << std::left << std::setw(static_cast<int>(widest)) << candidate.algorithm << std::right;
    if (!candidate.unsupported.empty()) {
      out << "  not possible: " << candidate.unsupported << '\n';
      continue;
    }
    out << std::fixed << std::setprecision(3) << std::setw(12) << candidate.seconds() * 1e3 << " ms  (agreement "
        << candidate.agreement_seconds * 1e3;
    if (candidate.rides)
      out << " with the factors";
    else
      out << ", network " << candidate.cost.communication_seconds * 1e3;
    out << ", arithmetic " << candidate.cost.arithmetic_seconds * 1e3;
    if (candidate.cost.hidden_seconds > 0) out << ", of it hidden " << candidate.cost.hidden_seconds * 1e3;
    out << ")\n";
  }
}

}  // namespace dsop
