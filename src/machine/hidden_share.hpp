// What part of products is hidden behind messages: both are made at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/plan.hpp>
#include <dsop/transport.hpp>

#include "machine/measure.hpp"
#include "machine/sampling.hpp"
#include "transport/working.hpp"

namespace dsop {

/// So many messages round a ring, and so many products; none of either where all would take too long.
struct OverlapRuns {
  std::size_t bytes = 0;
  double step_seconds = 0;
  int steps = 0;
  int products = 0;
};

/// Messages for `effort.overlap_seconds`, shorter ones where samples of long ones would end later than `until`; and as
/// many products as a rank makes in the time in which these leave it idle, by what was measured.
inline OverlapRuns overlap_to_measure(const Sampling& sampling, const Effort& effort, int samples,
                                      const Machine& machine, double product_seconds, double until) {
  if (effort.overlap_seconds == 0) return {};
  constexpr double least_steps = 4;                       // ranks do not come to the first at once
  constexpr double most = 256;                            // ends it should the clock stand still
  const int runs = effort.overlap_times * (samples + 1);  // the first is dropped
  for (std::size_t length = 3; length-- > 0;) {
    const double step_seconds = machine.ring_step_seconds[length];
    const double steps = std::clamp(std::ceil(effort.overlap_seconds / step_seconds), least_steps, most);
    const double each_and_both = 4 * steps * step_seconds;
    if (sampling.spent_seconds() + runs * each_and_both > until) continue;
    const Cost step{.messages = 1, .bytes = step_bytes[length], .communication_seconds = step_seconds};
    const double products = std::min(steps * step.idle_seconds(machine) / product_seconds, most);
    return {step_bytes[length], step_seconds, static_cast<int>(steps), static_cast<int>(products)};
  }
  return {};
}

struct HiddenShare {
  double share;
  double spread = 0;  ///< of the largest measured from the smallest
};

/// What part of products costs nothing beside messages, by seconds of each alone and of both at once, one after the
/// other: a rank makes a product whenever it would wait, as algorithms do. The median of effort.overlap_times. All
/// ranks make products; those that take part send messages to `partners`. What the machine says where no product fits
/// beside the messages, or there is no time.
template <class RingStepOf, class Product>
HiddenShare hidden_share(Sampling& sampling, const Effort& effort, Transport& partners, bool take_part,
                         const RingStepOf& ring_step_of, const Product& product, double product_seconds,
                         const Machine& machine, double until) {
  const int samples = 3 * effort.samples;  // short ones, of which one may be disturbed
  const OverlapRuns overlap = overlap_to_measure(sampling, effort, samples, machine, product_seconds, until);
  if (overlap.products == 0) return {machine.hidden_share};
  const auto send = [&](Transport& through) {
    const auto ring_step = ring_step_of(through)(overlap.bytes);
    for (int s = 0; take_part && s < overlap.steps; ++s) ring_step(s);
  };
  std::vector<double> shares;
  for (int time = 0; time < effort.overlap_times; ++time) {
    const double products_seconds = sampling.run_seconds(samples, [&] {
      for (int i = 0; i < overlap.products; ++i) product();
    });
    const double messages_seconds = sampling.run_seconds(samples, [&] { send(partners); });
    const double together_seconds = sampling.run_seconds(samples, [&] {
      int left = overlap.products;
      const auto make_one = [&] {
        if (left == 0) return false;
        product();
        --left;
        return true;
      };
      WorkingTransport never_idle(partners, make_one);
      send(never_idle);
      while (make_one()) {
      }
    });
    shares.push_back(std::clamp((messages_seconds + products_seconds - together_seconds) / products_seconds, 0.0, 1.0));
  }
  std::ranges::sort(shares);
  return {shares[shares.size() / 2], shares.back() - shares.front()};
}

}  // namespace dsop
