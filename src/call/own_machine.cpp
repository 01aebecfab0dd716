#include "call/own_machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include <dsop/errors.hpp>

#include "call/call_state.hpp"
#include "machine/measure.hpp"
#include "machine/node_groups.hpp"
#include "patterns/of_all_ranks.hpp"
#include "transport/on_tag.hpp"

namespace dsop {
namespace {

// Not all have, if some ranks made the duplicate before the machine was measured and others after.
bool all_have(Transport& transport, const DescribedMachine& inherited) {
  const auto all = patterns::of_all_ranks(transport, inherited.digest());
  return all[0] != 0 && std::ranges::all_of(all, [&](std::uint64_t digest) { return digest == all[0]; });
}

}  // namespace

MachineSource::MachineSource(const Transport& transport) : is_probed_(transport.is_probed() && transport.size() > 1) {
  default_.describe(transport.default_machine());
}

void MachineSource::ask_environment() {
  const char* const variable = std::getenv("DSOP_MACHINE");
  requested_ = variable == nullptr || *variable == 0 ? probe : variable;
  is_file_ = requested_ != probe && requested_ != "default";
  if (!is_file_) return;
  try {
    machine_.describe(read_machine(requested_));
  } catch (const Error& error) {
    throw Error(std::string("DSOP_MACHINE: ") + error.what());
  }
}

const DescribedMachine* MachineSource::to_choose_by() const {
  if (is_file_ || is_measured_) return &machine_;
  return is_probed_ && requested_ == probe ? nullptr : &default_;
}

void MachineSource::measure(Transport& transport, const std::vector<int>& nodes) {
  const WithinPart within(transport, "measuring the machine");
  OnTag apart(transport, Tag::probe);
  std::shared_ptr<const Machine> machine = transport.calls().measured_machine.load();
  DescribedMachine inherited;
  if (machine) inherited.describe(*machine);
  if (!all_have(apart, inherited)) {
    Machine measured = measure_machine(
        apart, nodes, NodeGroups(nodes, 0, transport.size()).nodes > 1 ? probe_of_nodes : probe_of_one_node);
    const MeasuredOn& on = measured.measured_on;
    measured.source = "probe of " + std::to_string(on.ranks) + " ranks on " + std::to_string(on.nodes) +
                      (on.nodes == 1 ? " node" : " nodes");
    machine = std::make_shared<const Machine>(std::move(measured));
  }
  take(transport, std::move(machine));
}

void MachineSource::take(Transport& transport, std::shared_ptr<const Machine> probed) {
  machine_.describe(*probed);
  is_measured_ = true;
  is_file_ = false;
  transport.calls().measured_machine = std::move(probed);
}

}  // namespace dsop
