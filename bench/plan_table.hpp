// What dsop-bench plan prints and writes.
#pragma once

#include <ostream>
#include <vector>

#include "plan.hpp"

namespace dsop::bench {

/// The machine, and how to read what follows.
void print_plan_head(std::ostream& out, const PlanOptions& options);

/// A row for each candidate near the best and for the fastest that sends G alone; then what auto takes and gains.
void print_plan_table(std::ostream& out, const std::vector<Forecast>& forecasts);

/// The same rows as JSON.
void write_plan_lines(std::ostream& out, const std::vector<Forecast>& forecasts);

}  // namespace dsop::bench
