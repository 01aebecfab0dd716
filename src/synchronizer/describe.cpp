#include <algorithm>
#include <cstdio>
#include <sstream>
#include <variant>

#include <dsop/types.hpp>

#include "base/shown.hpp"
#include "kernels/threads.hpp"
#include "sparse/overlap.hpp"
#include "synchronizer/description.hpp"
#include "synchronizer/state.hpp"

namespace dsop {
namespace {

// Of what was given in the last step, which need not be there any more.
template <class T>
std::size_t bytes_of(const FactorView<T>& factor) {
  const MemoryRange range = memory_range(factor);
  return range.empty() ? 0 : range.last - range.first + sizeof(T);
}

std::string mebibytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace

template <class T>
std::string Synchronizer<T>::State::describe() const {
  transport.calls().queue->wait_for_all();
  std::vector<const Parameter*> given(order.begin(), order.end());
  if (given.empty())
    for (const auto& parameter : parameters) given.insert(given.begin(), parameter.get());
  const CommunicatorState& communicator = attachment<CommunicatorState>(transport);
  const bool is_known = options.machine || communicator.own_machine.to_choose_by() != nullptr;
  const Machine& machine = planned_machine(transport, options.machine);
  synchronizer::Description<T> description(transport, machine, planned_machine(transport, options.machine, false),
                                           is_known, options.wire, options.bucket_bytes, step_.buckets);
  for (const Parameter* const parameter : given) parameter->policy.how->describe(*parameter, description);
  description.close_buckets();
  for (const auto& parameter : parameters)
    if (std::find(given.begin(), given.end(), parameter.get()) == given.end())
      description.alone(*parameter, "not given in the last step", {});

  std::ostringstream text;
  text << parameters.size() << " parameters in " << name(data_type<T>) << ", " << transport.size()
       << " ranks; machine: "
       << (is_known ? printable(machine.source)
                    : "not measured, since nothing is chosen by it: no times are predicted");
  const Capabilities& ranks = communicator.ranks;
  if (!ranks.group.nodes.empty() && machine.inner_levels.empty())
    text << ", one level: messages inside a node cost what others do";
  text << '\n';
  const std::string warning =
      why_not_valid(machine, transport.size(), ranks.group.nodes, static_cast<int>(kernels::thread_count()));
  if (is_known && !warning.empty()) text << "warning: " << warning << '\n';
  if (runs_at_finish)
    text << "everything runs in finish(): MPI was not initialized with MPI_THREAD_MULTIPLE on every rank\n";
  else if (!options.overlap)
    text << "everything but what is dense-overlapped starts in finish(), as the options say\n";
  if (options.wire != Wire::full) text << "values travel as " << name(options.wire) << '\n';
  text << description.text();
  std::size_t factor_bytes = 0;
  for (const Parameter* const parameter : order)
    if (const auto* const factors = std::get_if<SparseFactors<T>>(&parameter->given.own))
      factor_bytes += bytes_of(factors->a) + bytes_of(factors->b);
  if (factor_bytes > 0)
    text << "besides gradients a step holds " << mebibytes(factor_bytes) << " of factors, given, and "
         << mebibytes(communicator.arena.elements().size() + step_.buckets.memory_bytes()) << " that calls work in\n";
  return text.str();
}

#define INSTANTIATE(T) template std::string Synchronizer<T>::State::describe() const;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
