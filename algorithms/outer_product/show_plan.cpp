#include <dsop/plan.hpp>

#include <algorithm>
#include <sstream>

#include "algorithms/outer_product/algorithm.hpp"
#include "call/show_plan.hpp"
#include "kernels/blas_info.hpp"

namespace dsop {
namespace {

std::string text(const ProductMethod& method) {
  const std::string instructions(name(method.instructions));
  if (!method.blas_allowed) return instructions + ", no OpenBLAS: its cores or threads differ between ranks";
  if (!kernels::blas_keeps_up_with(method.instructions)) return instructions + ", no OpenBLAS: its core has no AVX";
  return instructions + ", OpenBLAS for large inner dimensions";
}

}  // namespace

void Cost::raise_to(const Traffic& rank) {
  messages = std::max(messages, rank.messages);
  bytes = std::max(bytes, rank.bytes);
}

double Cost::idle_seconds(const Machine& machine) const {
  const double busy_seconds = 2 * static_cast<double>(messages) * machine.overhead_seconds +
                              machine.memory_seconds(2 * static_cast<double>(bytes));
  return std::max(communication_seconds - busy_seconds, 0.0);
}

void Cost::hide(double share, double seconds, const Machine& machine) {
  hide(share * std::min(idle_seconds(machine), seconds), machine);
}

void Cost::hide(double seconds, const Machine& machine) {
  communication_seconds -= machine.hidden_share * seconds;
  hidden_seconds += machine.hidden_share * seconds;
}

template struct PlanOf<OuterProductAlgorithm, Problem>;

std::ostream& operator<<(std::ostream& stream, const Plan& plan) {
  std::ostringstream out;
  const Problem& problem = plan.problem;
  out << (problem.sharded ? "the ranks' rows of G " : "G ") << problem.rows << " x " << problem.columns << ' '
      << name(problem.type) << ", " << problem.total_pairs() << " pairs on " << problem.ranks() << " ranks";
  if (!plan.leaders.empty()) {
    out << " of " << plan.leaders.size() << (plan.leaders.size() == 1 ? " node" : " nodes") << " (led by";
    for (const int leader : plan.leaders) out << ' ' << leader;
    out << ')';
  }
  if (problem.wire != Wire::full) out << ", gradient travels as " << name(problem.wire);
  if (problem.factor_wire != Wire::full) out << ", factors travel as " << name(problem.factor_wire);
  if (problem.started) out << ", started while the program computes";
  out << "; machine: " << plan.machine.source;
  if (!plan.leaders.empty()) {
    if (plan.machine.inner_levels.empty())
      out << ", one level: messages inside a node cost what others do";
    else
      out << ", " << plan.machine.inner_levels.size() + 1 << " levels";
  }
  out << '\n';
  show_plan(out, plan, "; shared products: " + text(plan.shared_method),
            plan.runs_at_wait
                ? "started calls run at wait(): MPI was not initialized with MPI_THREAD_MULTIPLE on every rank\n"
                : "");
  return stream << out.str();
}

}  // namespace dsop
