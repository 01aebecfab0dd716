// The step that is under way, as policies see it.
#pragma once

#include <dsop/dsop.hpp>

#include "synchronizer/buckets.hpp"
#include "synchronizer/step_calls.hpp"

namespace dsop::synchronizer {

template <class T>
struct RunningStep {
  Transport& transport;
  StepCalls& calls;
  StepTerms terms = {};
  Buckets<T> buckets;
};

}  // namespace dsop::synchronizer
