// What part of products is hidden behind messages: both are made at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <dsop/machine.hpp>
#include <dsop/plan.hpp>

#include "calls/sampling.hpp"
#include "transport/working.hpp"

namespace dsop {

/// So many messages round a ring, and so many products.
struct Overlap {
  std::size_t bytes;
  double step_seconds;
  int steps;
  int products;
};

/// Messages for `effort.overlap_seconds`, shorter ones where samples of long ones would end later than `until`; and as
/// many products as a rank makes in the time in which these leave it idle, by what was measured.
inline Overlap overlap_to_measure(const Sampling& sampling, const Effort& effort, int samples, const Machine& machine,
                                  double product_seconds, double until) {
  constexpr double most = 256;  // should the clock stand still
  const auto steps_of = [&](std::size_t length) {
    return std::ceil(std::min(effort.overlap_seconds / machine.ring_step_seconds[length], most));
  };
  std::size_t length = 2;
  const auto end_seconds = [&] {  // messages and products one after the other, and a run that is dropped
    return sampling.spent_seconds() + 2 * (samples + 1) * steps_of(length) * machine.ring_step_seconds[length];
  };
  while (length > 0 && end_seconds() > until) --length;
  const Cost step{
      .messages = 1, .bytes = step_bytes[length], .communication_seconds = machine.ring_step_seconds[length]};
  const double steps = steps_of(length);
  const double products = std::min(steps * step.idle_seconds(machine) / product_seconds, most);
  return {step.bytes, step.communication_seconds, static_cast<int>(steps), static_cast<int>(products)};
}

/// Of the products' time, what messages and products together do not take longer than messages: as where an algorithm
/// makes products while it would wait. All ranks make them; those that take part send messages to `partners`.
template <class RingStepOf, class Product>
double hidden_share(Sampling& sampling, const Effort& effort, Transport& partners, bool take_part,
                    const RingStepOf& ring_step_of, const Product& product, double product_seconds,
                    const Machine& machine, double until) {
  const int samples = 3 * effort.samples;
  const Overlap overlap = overlap_to_measure(sampling, effort, samples, machine, product_seconds, until);
  if (overlap.products == 0) return 0;
  const double together = sampling.run_seconds(samples, [&] {
    int left = overlap.products;
    const auto make_one = [&] {
      if (left == 0) return false;
      product();
      --left;
      return true;
    };
    WorkingTransport never_idle(partners, make_one);
    const auto ring_step = ring_step_of(never_idle)(overlap.bytes);
    for (int s = 0; take_part && s < overlap.steps; ++s) ring_step(s);
    while (make_one()) {
    }
  });
  const double messages_seconds = overlap.steps * overlap.step_seconds;
  const double products_seconds = overlap.products * product_seconds;
  return std::clamp((messages_seconds + products_seconds - together) / products_seconds, 0.0, 1.0);
}

}  // namespace dsop
