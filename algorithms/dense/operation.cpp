#include "algorithms/dense/operation.hpp"

#include <dsop/errors.hpp>

#include "base/check_aligned.hpp"
#include "base/refuse.hpp"
#include "call/agreement_seconds.hpp"
#include "call/choose.hpp"
#include "call/show_plan.hpp"
#include "call/start_call.hpp"

namespace dsop {

static std::string why_unsupported(const DenseAlgorithm& algorithm, const DenseProblem& problem) {
  if (problem.wire == Wire::bf16 && algorithm.run_bf16 == nullptr) return "sends values in full only, and wire is bf16";
  return algorithm.unsupported(problem);
}

namespace {

struct Family {
  const DenseProblem& of;
  const Machine& machine;
  double agreement = agreement_seconds(machine, of.group.nodes, of.ranks);

  const DenseProblem& problem(const DenseAlgorithm&) const { return of; }
  bool may_take_native(const DenseAlgorithm& algorithm) const {
    return algorithm.measured && of.allow_native && machine.native_seconds(1, of.ranks) > 0;
  }
  Candidate evaluate(const DenseAlgorithm& algorithm, double parameter) const {
    Candidate candidate;
    candidate.algorithm = algorithm_text(algorithm, parameter);
    candidate.parameter = parameter;
    candidate.cost = algorithm.cost(of, machine, parameter);
    candidate.agreement_seconds = agreement;
    return candidate;
  }
};

}  // namespace

DensePlan make_dense_plan(const Registry<DenseAlgorithm>& algorithms, const DenseProblem& problem,
                          const Machine& machine, const std::string& name) {
  DensePlan plan;
  plan.problem = problem;
  choose(plan, Family{problem, machine}, algorithms, name, Evaluated::named);
  plan.workspace_bytes = plan.algorithm->workspace_bytes(problem, plan.parameter);
  return plan;
}

template <class T>
void DenseOperation<T>::check(const Call& call) const {
  const int P = call.transport().size();
  if (data.data() == nullptr && !data.empty()) refuse("data", "null", "memory for its elements");
  check_aligned(data.data(), "data");
  if (root < 0 || root >= P) refuse("root", root, "a rank from 0 to " + std::to_string(P - 1));
  if (machine) check_machine(*machine);
  if (algorithm != "auto") parse_algorithm(algorithm, "algorithm", algorithms_of(collective));
}

template <class T>
void DenseOperation<T>::say(Call& call) const {
  call.same("data.size()", elements)
      .same("root", root)
      .same("algorithm", std::string_view(algorithm))
      .same_unplanned("scale", scale)
      .same("wire", wire)
      .same("allow_native", allow_native)
      .same_machine(machine, algorithm == "auto");
}

template <class T>
void DenseOperation<T>::make(const Call& call, Planned<DensePlan>& made) const {
  const DenseProblem problem{.elements = elements,
                             .ranks = call.transport().size(),
                             .type = data_type<T>,
                             .group = call.ranks().group,
                             .wire = wire,
                             .root = root,
                             .allow_native = allow_native && call.transport().native_sums_have_same_bits()};
  made.plan = make_dense_plan(algorithms_of(collective), problem, call.machine(), algorithm);
  made.text = made.plan.algorithm_text();
  made.memory_bytes = made.plan.workspace_bytes;
}

template <class T>
void DenseOperation<T>::run(const Call& call, const Planned<DensePlan>& made) const {
  if (data.empty() || call.transport().size() == 1) return;
  const DenseAlgorithm& by = *made.plan.algorithm;
  Arena memory(call.memory(made.memory_bytes));
  DenseCall<T> step{call.transport(), data, memory, made.plan.parameter, {}, root};
  if constexpr (can_travel_as(Wire::bf16, data_type<T>))
    if (wire == Wire::bf16) return by.run_bf16(step);
  by.run(step);
}

// The public calls.
namespace {

template <class T>
void run(Transport& transport, Collective collective, std::span<T> data, int root, const CollectiveOptions& options) {
  calls_of<DenseCalls>(transport).run(transport, DenseOperation<T>{.collective = collective,
                                                                   .elements = data.size(),
                                                                   .algorithm = options.algorithm,
                                                                   .machine = options.machine,
                                                                   .root = root,
                                                                   .allow_native = options.allow_native,
                                                                   .data = data});
}

template <class T>
Pending start(Communicator communicator, Collective collective, std::span<T> data, int root,
              const CollectiveOptions& options) {
  Transport& transport = communicator.transport();
  return Pending(start_call(
      transport, [&transport, collective, data, root, options] { run(transport, collective, data, root, options); }));
}

}  // namespace

template <class T>
void allreduce(Communicator communicator, std::span<T> data, const CollectiveOptions& options) {
  Transport& transport = communicator.transport();
  make_call(transport, [&] { run(transport, Collective::allreduce, data, 0, options); });
}

template <class T>
void broadcast(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  Transport& transport = communicator.transport();
  make_call(transport, [&] { run(transport, Collective::broadcast, data, root, options); });
}

template <class T>
void reduce(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  Transport& transport = communicator.transport();
  make_call(transport, [&] { run(transport, Collective::reduce, data, root, options); });
}

template <class T>
Pending start_allreduce(Communicator communicator, std::span<T> data, const CollectiveOptions& options) {
  return start(communicator, Collective::allreduce, data, 0, options);
}

template <class T>
Pending start_broadcast(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  return start(communicator, Collective::broadcast, data, root, options);
}

template <class T>
Pending start_reduce(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  return start(communicator, Collective::reduce, data, root, options);
}

template struct PlanOf<DenseAlgorithm, DenseProblem>;

#define INSTANTIATE(T)                                                                         \
  template struct DenseOperation<T>;                                                           \
  template void allreduce(Communicator, std::span<T>, const CollectiveOptions&);               \
  template void broadcast(Communicator, std::span<T>, int, const CollectiveOptions&);          \
  template void reduce(Communicator, std::span<T>, int, const CollectiveOptions&);             \
  template Pending start_allreduce(Communicator, std::span<T>, const CollectiveOptions&);      \
  template Pending start_broadcast(Communicator, std::span<T>, int, const CollectiveOptions&); \
  template Pending start_reduce(Communicator, std::span<T>, int, const CollectiveOptions&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
