// none: the gradient stays this rank's own.
#pragma once

#include "base/error_of.hpp"
#include "synchronizer/agree.hpp"
#include "synchronizer/buckets.hpp"
#include "synchronizer/description.hpp"
#include "synchronizer/parameter.hpp"

namespace dsop::synchronizer {

template <class T>
class NonePolicy final : public Policy<T> {
 public:
  NonePolicy(const PolicyText&, const Shape&) {}

  void check(Parameter<T>&, const PolicyTerms&) override {}
  void start(Parameter<T>& parameter, RunningStep<T>& step) override {
    step.calls.start([&parameter, &step] {
      const OnBehalf on_behalf(step.transport, parameter.name);
      all_throw_if<T>(step.transport, error_of([&] { parameter.reserve(); }));
      parameter.keep_own(static_cast<T>(step.terms.scale));
      parameter.last_step = {};
    });
  }
  void describe(const Parameter<T>& parameter, Description<T>& description) const override {
    description.alone(parameter, "not summed", Predicted{});
  }
};

inline PolicyKind none_policy() {
  return {.form = "none",
          .example = "none",
          .takes = [](const PolicyText& text) { return text.whole == "none"; },
          .sums = false,
          .make = made_as<NonePolicy>()};
}

}  // namespace dsop::synchronizer
