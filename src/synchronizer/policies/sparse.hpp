// sparse: an allreduce of the family "sparse", of what is not zero.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/sparse/operation.hpp"
#include "base/error_of.hpp"
#include "call/communicator.hpp"
#include "memory/workspace.hpp"
#include "patterns/agreed_errors.hpp"
#include "synchronizer/agree.hpp"
#include "synchronizer/buckets.hpp"
#include "synchronizer/description.hpp"
#include "synchronizer/parameter.hpp"

namespace dsop::synchronizer {

template <class T>
class SparsePolicy final : public Policy<T> {
 public:
  SparsePolicy() = default;
  SparsePolicy(const PolicyText& text, const Shape& shape) : algorithm_(algorithm_of(text, sparse_algorithms())) {
    check_indices(text, shape);
  }

  void check(Parameter<T>& parameter, const PolicyTerms& terms) override {
    const Transport& transport = terms.transport;
    agree_on_errors(terms.transport, error_of([&] {
                      const std::vector<std::size_t> all(static_cast<std::size_t>(transport.size()), Sparsity::dense);
                      const SparseProblem problem{.elements = parameter.elements(),
                                                  .nonzeros = all,
                                                  .type = data_type<T>,
                                                  .group = attachment<CommunicatorState>(terms.transport).ranks.group,
                                                  .wire = terms.step.wire};
                      make_sparse_plan(problem, terms.machine, algorithm_);
                    }));
  }

  void start(Parameter<T>& parameter, RunningStep<T>& step) override {
    step.calls.start([this, &parameter, &step] { sum(parameter, step); });
  }

  void describe(const Parameter<T>& parameter, Description<T>& description) const override {
    if (const SparsePlan* const plan = calls_.plan())
      return description.alone(parameter, plan->algorithm_text(), Predicted{plan->cost().bytes, plan->seconds()});
    description.alone(parameter, "known after a step", {});
  }
  bool chooses() const override { return algorithm_ == "auto"; }

 private:
  void sum(Parameter<T>& parameter, const RunningStep<T>& step) {
    const OnBehalf on_behalf(step.transport, parameter.name);
    SparseVectorView<T> values;
    all_throw_if<T>(step.transport,
                    error_of([&] { values = own_values(parameter, static_cast<T>(step.terms.scale)); }));
    const SparseSum<T> result = calls_.run(
        step.transport, values, {.algorithm = algorithm_, .machine = step.terms.machine, .wire = step.terms.wire});
    parameter.forget_residual();
    update_target(parameter.given, result.sum);
    parameter.last_step = {.algorithm = result.algorithm, .in_sum = result.sum.values.size()};
  }

  // What is to be summed, in the form that is smaller.
  SparseVectorView<T> own_values(Parameter<T>& parameter, T factor) {
    if (parameter.given.vector() && parameter.residual.empty()) {
      const auto& own = std::get<SparseVectorView<T>>(parameter.given.own);
      const std::span<T> values = values_.at_least(own.values.size());
      std::transform(own.values.begin(), own.values.end(), values.begin(), [&](T value) { return factor * value; });
      return {own.dimension, own.indices, values};
    }
    parameter.reserve();
    const MatrixView<T> G = parameter.given.target;
    const std::size_t elements = parameter.elements();
    const bool in_target = G.contiguous() && parameter.given.beta() == T{0};
    const std::span<T> whole = in_target ? std::span<T>(G.data, elements) : whole_.at_least(elements);
    parameter.make_gradient(factor, {whole.data(), G.rows, G.columns});
    const std::size_t nonzeros = dsop::sparse::count_nonzeros<T>(whole);
    if (nonzeros > dsop::sparse::most_indices<T>(elements)) return {elements, {}, whole};
    return dsop::sparse::compress<T>(whole, indices_.at_least(nonzeros).data(), values_.at_least(nonzeros).data());
  }

  std::string algorithm_ = "auto";
  SparseCalls<T> calls_{false};
  Workspace<T> whole_;  // a gradient that has no place of its own
  Workspace<T> values_;
  Workspace<std::uint32_t> indices_;
};

inline PolicyKind sparse_policy() {
  return kind_named("sparse", made_as<SparsePolicy>());
}

}  // namespace dsop::synchronizer
