#include "call/capabilities.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <dsop/problem.hpp>

#include "base/check_nodes.hpp"
#include "kernels/blas_info.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop {
namespace {

struct Facts {
  std::array<char, 24> blas_core{};
  std::int32_t node = 0;
  InstructionSet instructions = InstructionSet::baseline;
  bool allows_progress_thread = false;
  bool traces = false;
};

Facts own_facts(const Transport& transport, bool traces) {
  Facts own{.node = transport.node(),
            .instructions = best_instruction_set(),
            .allows_progress_thread = transport.allows_progress_thread(),
            .traces = traces};
  kernels::blas_core_name().copy(own.blas_core.data(), own.blas_core.size() - 1);
  return own;
}

}  // namespace

void exchange_capabilities(Transport& transport, Capabilities& ranks, bool traces) {
  const std::vector<Facts> all = patterns::of_all_ranks(transport, own_facts(transport, traces));
  ranks.least_instructions = all[0].instructions;
  ranks.same_blas = ranks.all_allow_progress_thread = ranks.all_trace = true;
  std::vector<int> nodes;
  for (const Facts& rank : all) {
    nodes.push_back(rank.node);
    ranks.least_instructions = std::min(ranks.least_instructions, rank.instructions);
    ranks.same_blas &= rank.blas_core == all[0].blas_core;
    ranks.all_allow_progress_thread &= rank.allows_progress_thread;
    ranks.all_trace &= rank.traces;
  }
  check_nodes(nodes, [](std::size_t r) { return "node() of rank " + std::to_string(r) + "'s transport"; });
  ranks.group = {transport.has_native_collectives(), shared_nodes(std::move(nodes))};
  ranks.known = true;
}

}  // namespace dsop
