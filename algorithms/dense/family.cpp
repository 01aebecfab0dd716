#include "algorithms/dense/family.hpp"

#include <dsop/errors.hpp>

#include "base/check_aligned.hpp"
#include "base/refuse.hpp"
#include "calls/agreement_seconds.hpp"
#include "transport/start_call.hpp"

namespace dsop {
namespace {

struct Family {
  double agreement_seconds;

  static std::string why_unsupported(const DenseAlgorithm& algorithm, const DenseProblem& problem) {
    if (problem.wire == Wire::bf16 && algorithm.run_bf16 == nullptr)
      return "sends values in full only, and wire is bf16";
    return algorithm.unsupported(problem);
  }
  static bool may_take_native(const DenseAlgorithm& algorithm, const DenseProblem& problem, const Machine& machine) {
    return algorithm.measured && problem.allow_native && machine.native_seconds(1, problem.ranks) > 0;
  }
  Candidate evaluate(const DenseAlgorithm& algorithm, double parameter, const DenseProblem& problem,
                     const Machine& machine) const {
    return {algorithm_text(algorithm, parameter),
            parameter,
            algorithm.cost(problem, machine, parameter),
            {},
            1,
            agreement_seconds};
  }
};

template <class T>
void check_arguments(const Transport& transport, std::span<T> data, int root, const CollectiveOptions& options) {
  if (data.data() == nullptr && !data.empty()) refuse("data", "null", "memory for its elements");
  check_aligned(data.data(), "data");
  if (root < 0 || root >= transport.size())
    refuse("root", root, "a rank from 0 to " + std::to_string(transport.size() - 1));
  if (options.machine) check_machine(*options.machine);
}

}  // namespace

const Registry<DenseAlgorithm>& algorithms_of(Collective collective) {
  if (collective == Collective::broadcast) return broadcast_algorithms();
  return collective == Collective::reduce ? reduce_algorithms() : dense_algorithms();
}

DensePlan make_dense_plan(const Registry<DenseAlgorithm>& algorithms, const DenseProblem& problem,
                          const Machine& machine, const std::string& name) {
  const Family family{agreement_seconds(machine, problem.nodes, problem.ranks)};
  const Choice<DenseAlgorithm> choice = choose(family, algorithms, problem, machine, name, Evaluated::named);
  const DenseAlgorithm& algorithm = *choice.algorithm;
  const Candidate& chosen = choice.candidates.front();
  return {&algorithm,   choice.parameter,        chosen.cost, algorithm.workspace_bytes(problem, choice.parameter),
          problem.wire, chosen.agreement_seconds};
}

template <class T>
void DenseCalls<T>::run(Transport& transport, Collective collective, std::span<T> data, int root,
                        const CollectiveOptions& options) {
  Call call(transport, name(collective), data.size(), 1, data_type<T>);
  call.check([&] { check_arguments(transport, data, root, options); });
  agree(call, {collective, data.size(), root, options.algorithm, 1, options.machine, Wire::full, options.allow_native});
  run_agreed(call, data, root);
}

// The plan is a function of what the ranks will agree on: if they do, each has made the same one. Where they have to
// measure the machine first, it is made after that.
template <class T>
void DenseCalls<T>::agree(Call& call, const Terms& terms) {
  call.same("data.size()", terms.elements)
      .same("root", terms.root)
      .same("algorithm", std::string_view(terms.algorithm))
      .same_now("scale", terms.scale)
      .same("wire", terms.wire)
      .same("allow_native", terms.allow_native)
      .same_machine(terms.machine, terms.algorithm == "auto");
  DensePlan plan;
  const auto make = [&] {
    const Transport& transport = call.transport();
    const DenseProblem problem{.elements = terms.elements,
                               .ranks = transport.size(),
                               .type = data_type<T>,
                               .native_collectives = transport.has_native_collectives(),
                               .wire = terms.wire,
                               .root = terms.root,
                               .allow_native = terms.allow_native && transport.native_sums_have_same_bits(),
                               .nodes = call.ranks().nodes};
    plan = make_dense_plan(algorithms_of(terms.collective), problem, call.machine(), terms.algorithm);
  };
  const auto is_kept = [&] { return plans_.contains(call.key(), call.key_digest()); };
  const bool knows_machine = call.knows_machine();
  const bool has_levels = knows_machine && !call.machine().inner_levels.empty();
  call.own().lacks_plan = !knows_machine || !is_kept();
  if (knows_machine && (call.ranks().known || !has_levels) && !is_kept()) call.check(make);
  call.agree();
  // In a communicator's first call some rank did not know which ranks share nodes.
  const bool is_made_now =
      !knows_machine || (has_levels && call.any([](const Record& record) { return record.asks_for_facts != 0; }));
  plan_ = plans_.find(call.key(), call.key_digest());
  // Another rank may have kept other plans: a synchronizer's buckets were filled otherwise there, in a step that
  // failed.
  const bool all_have_it = !call.any([](const Record& record) { return record.lacks_plan != 0; });
  if (all_have_it && !call.must_grow(plan_->workspace_bytes)) return;
  try {
    call.together([&] {
      if (plan_ == nullptr && is_made_now) make();
      if (plan_ == nullptr) plan_ = &plans_.insert(call.key(), call.key_digest(), std::move(plan));
      call.grow(plan_->workspace_bytes);
    });
  } catch (const AgreedError&) {  // some ranks may have kept what others have not
    plans_.clear();
    throw;
  }
}

template <class T>
void DenseCalls<T>::run_agreed(Call& call, std::span<T> data, int root) const {
  Transport& transport = call.transport();
  if (data.empty() || transport.size() == 1) return;
  Arena memory(call.memory(plan_->workspace_bytes));
  DenseCall<T> step{transport, data, memory, plan_->parameter, {}, root};
  if constexpr (can_travel_as(Wire::bf16, data_type<T>))
    if (plan_->wire == Wire::bf16) return plan_->algorithm->run_bf16(step);
  plan_->algorithm->run(step);
}

// The public calls.
namespace {

template <class T>
void run_now(Communicator communicator, Collective collective, std::span<T> data, int root,
             const CollectiveOptions& options) {
  Transport& transport = communicator.transport();
  make_call(transport, [&] { calls_of<DenseCalls<T>>(transport).run(transport, collective, data, root, options); });
}

template <class T>
Pending start(Communicator communicator, Collective collective, std::span<T> data, int root,
              const CollectiveOptions& options) {
  Transport& transport = communicator.transport();
  return Pending(start_call(transport, [&transport, collective, data, root, options] {
    calls_of<DenseCalls<T>>(transport).run(transport, collective, data, root, options);
  }));
}

}  // namespace

template <class T>
void allreduce(Communicator communicator, std::span<T> data, const CollectiveOptions& options) {
  run_now(communicator, Collective::allreduce, data, 0, options);
}

template <class T>
void broadcast(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  run_now(communicator, Collective::broadcast, data, root, options);
}

template <class T>
void reduce(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  run_now(communicator, Collective::reduce, data, root, options);
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

#define INSTANTIATE(T)                                                                         \
  template class DenseCalls<T>;                                                                \
  template void allreduce(Communicator, std::span<T>, const CollectiveOptions&);               \
  template void broadcast(Communicator, std::span<T>, int, const CollectiveOptions&);          \
  template void reduce(Communicator, std::span<T>, int, const CollectiveOptions&);             \
  template Pending start_allreduce(Communicator, std::span<T>, const CollectiveOptions&);      \
  template Pending start_broadcast(Communicator, std::span<T>, int, const CollectiveOptions&); \
  template Pending start_reduce(Communicator, std::span<T>, int, const CollectiveOptions&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
