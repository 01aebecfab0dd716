// dense, dense-overlapped: an allreduce of the family "dense"; small gradients are fused into buckets.
#pragma once

#include "algorithms/dense/operation.hpp"
#include "base/error_of.hpp"
#include "call/communicator.hpp"
#include "patterns/agreed_errors.hpp"
#include "synchronizer/buckets.hpp"
#include "synchronizer/description.hpp"
#include "synchronizer/parameter.hpp"

namespace dsop::synchronizer {

template <class T>
class DensePolicy final : public Policy<T> {
 public:
  DensePolicy() = default;
  DensePolicy(const PolicyText& text, const Shape&)
      : in_bucket_{algorithm_of(text, dense_algorithms()), text.name == "dense-overlapped"} {}

  void check(Parameter<T>& parameter, const PolicyTerms& terms) override {
    if (chooses()) return;  // something always can
    const Transport& transport = terms.transport;
    const DenseProblem problem{.elements = parameter.elements(),
                               .ranks = transport.size(),
                               .type = data_type<T>,
                               .group = attachment<CommunicatorState>(terms.transport).ranks.group,
                               .wire = terms.step.wire};
    agree_on_errors(terms.transport, error_of([&] {
                      make_dense_plan(dense_algorithms(), problem, terms.machine, in_bucket_.algorithm);
                    }));
  }
  void start(Parameter<T>& parameter, RunningStep<T>& step) override {
    step.buckets.add(parameter, in_bucket_, parameter.elements() * sizeof(T), step);
  }
  void describe(const Parameter<T>& parameter, Description<T>& description) const override {
    description.in_bucket(parameter, in_bucket_, parameter.elements() * sizeof(T));
  }
  bool chooses() const override { return in_bucket_.algorithm == "auto"; }
  bool starts_at_once() const override { return in_bucket_.at_once; }

 private:
  BucketKey in_bucket_;
};

inline PolicyKind dense_policy() {
  return kind_named("dense", made_as<DensePolicy>());
}

inline PolicyKind dense_overlapped_policy() {
  return kind_named("dense-overlapped", made_as<DensePolicy>());
}

}  // namespace dsop::synchronizer
