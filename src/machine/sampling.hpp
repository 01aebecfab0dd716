// Seconds of what all ranks do at the same time, agreed by all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/transport.hpp>

#include "base/mix.hpp"
#include "machine/measure.hpp"
#include "patterns/agreed_errors.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop {

/// The lower one of two.
inline double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>((samples.size() - 1) / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// By the transport's clock. What the ranks decide by is what all have agreed on, so all decide alike.
class Sampling {
 public:
  Sampling(Transport& transport, const Effort& effort)
      : transport_(transport), effort_(effort), start_(transport.now_seconds()), last_(start_) {}

  double now() {
    const double now = transport_.now_seconds();
    stepped_back_ = std::max(stepped_back_, last_ - now);
    return last_ = now;
  }
  /// The slowest rank's. All ranks leave it at about the same time.
  double of_slowest(double seconds) { return extremes(seconds).most; }
  /// The fastest rank's, as well.
  double of_fastest(double seconds) { return extremes(seconds).least; }
  /// On the rank that has spent most, when its clock was last looked at before all were asked.
  double spent_seconds() const { return spent_; }
  /// Throws AgreedError on all ranks if a clock has stepped back. Not where it is seen: the others wait for messages.
  void check_clock() const {
    std::ostringstream error;
    if (stepped_back_ > 0)
      error << "the clock stepped back by " << stepped_back_ << " s while the machine was measured";
    agree_on_errors(transport_, error.str());
  }

  /// Of a step, of many that follow each other at once, after one that is dropped: the median of so many samples. Who
  /// takes no part looks on. If `of_a_call` is not 0 and ranks are out of step, no more steps than that follow an
  /// agreement, none is dropped, and there are more samples instead.
  template <class Step>
  double step_seconds(bool take_part, int timed, const Step& step, int samples, int of_a_call = 0) {
    const bool is_as_in_a_call = effort_.out_of_step && of_a_call > 0;
    if (is_as_in_a_call && timed > of_a_call) {
      samples = samples * timed / of_a_call;
      timed = of_a_call;
    }
    std::vector<double> sampled;
    while (sampled.size() < static_cast<std::size_t>(samples)) {
      double seconds = 0;
      if (effort_.out_of_step && !sampled.empty()) come_to_a_call(sampled.back());
      if (take_part && !is_as_in_a_call) step(0);
      // Of few steps with changing partners a rank would wait for what others have left to do of theirs that is
      // dropped.
      if (!effort_.out_of_step) of_slowest(0);
      if (take_part) {
        const double start = now();
        for (int s = 1; s <= timed; ++s) step(s);
        seconds = now() - start;
      }
      sampled.push_back(of_slowest(seconds) / timed);
    }
    return median(std::move(sampled));
  }
  template <class Step>
  double step_seconds(bool take_part, int timed, const Step& step) {
    return step_seconds(take_part, timed, step, effort_.samples);
  }
  /// Of a run of `body`, the median of so many, after one that is dropped.
  template <class Body>
  double run_seconds(int samples, const Body& body) {
    std::vector<double> seconds;
    for (int i = 0; i <= samples; ++i) {
      const double start = now();
      body();
      const double slowest = of_slowest(now() - start);
      if (i > 0) seconds.push_back(slowest);
    }
    return median(std::move(seconds));
  }
  /// Whether every sample's steps, so many of so many seconds, will have been made by then.
  bool fit(int steps, double predicted_seconds, double until) const {
    return spent_ + effort_.samples * steps * predicted_seconds <= until;
  }
  /// How many of so many steps of each sample, beside the one that is dropped, end in time. One is begun in any case.
  int steps_in_time(int steps, double predicted_seconds, double until, int samples) const {
    while (steps > 1 && spent_ + samples * (steps + 1) * predicted_seconds > until) steps /= 2;
    return steps;
  }
  /// Of steps with messages of step_bytes, the first two in any case and longer ones as far as they end in time; what
  /// was not sent is on the line through the last two. `of_a_call` as above.
  template <class StepOf>
  StepSeconds steps_seconds(bool take_part, double smallest_seconds, double until, const StepCounts& steps,
                            const StepOf& step_of, int of_a_call = 0) {
    constexpr std::size_t always = 2;
    StepSeconds seconds{};
    double last_bytes = 0;
    double last_seconds = smallest_seconds;
    double seconds_a_byte = least_seconds_a_byte;
    bool active = true;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      const auto bytes = static_cast<double>(step_bytes[i]);
      const double growth = last_bytes > 0 ? bytes / last_bytes : 1;
      const double predicted = smallest_seconds + growth * std::max(last_seconds - smallest_seconds, 0.0);
      active = active && steps[i] > 0 && (i < always || fit(2, predicted, until));
      if (active) {
        const int samples = i < always ? effort_.short_samples : effort_.samples;
        const int timed = steps_in_time(steps[i], predicted, until, samples);
        const double measured = step_seconds(take_part, timed, step_of(step_bytes[i]), samples, of_a_call);
        seconds_a_byte = std::max((measured - last_seconds) / (bytes - last_bytes), least_seconds_a_byte);
      }
      seconds[i] = last_seconds + seconds_a_byte * (bytes - last_bytes);
      if (active) {
        last_bytes = bytes;
        last_seconds = seconds[i];
      }
    }
    return seconds;
  }
  /// Of a run of `body`, of many that all ranks make, from when the last rank begins until the last ends: ranks that
  /// share cores take turns, and one that is alone for its turn says little. What it takes them to say so is taken off.
  /// The median of so many samples, each of at most so many runs, which ends them should the clock stand still. The
  /// first run says how many fit in arithmetic_seconds, and counts only where that is one.
  template <class Body>
  double kernel_seconds(int samples, int most_runs, const Body& body) {
    if (agreements_seconds_ == 0) measure_agreements();
    std::vector<double> seconds{makespan(1, body)};
    const auto runs = static_cast<int>(std::clamp<double>(effort_.arithmetic_seconds / seconds[0], 1, most_runs));
    if (runs > 1) seconds.clear();
    while (seconds.size() < static_cast<std::size_t>(samples)) seconds.push_back(makespan(runs, body) / runs);
    return median(std::move(seconds));
  }

  /// No byte travels faster. Where other work disturbs a rank, longer messages may seem to take less time than short
  /// ones.
  double least_seconds_a_byte = 0;

 private:
  static constexpr double least_seconds = 1e-9;  // a clock may not see less

  struct Extremes {
    double least;
    double most;
  };
  Extremes extremes(double seconds) {
    struct Seconds {
      double taken;
      double since_start;
    };
    Extremes all{seconds, seconds};
    for (const Seconds& rank : patterns::of_all_ranks(transport_, Seconds{seconds, last_ - start_})) {
      all.least = std::min(all.least, rank.taken);
      all.most = std::max(all.most, rank.taken);
      spent_ = std::max(spent_, rank.since_start);
    }
    return {std::max(all.least, least_seconds), std::max(all.most, least_seconds)};
  }

  // From when the last rank has come until all have made so many, and not less than the fastest takes for its own.
  template <class Body>
  double makespan(int runs, const Body& body) {
    const double start = now();
    of_slowest(0);
    const double own_start = now();
    for (int i = 0; i < runs; ++i) body();
    const double own = of_fastest(now() - own_start);
    return std::max(of_fastest(now() - start) - agreements_seconds_, own);
  }

  // The two in a makespan that are not part of what is measured.
  void measure_agreements() {
    constexpr std::size_t samples = 3;
    std::vector<double> seconds;
    while (seconds.size() < samples) seconds.push_back(makespan(0, [] {}));
    agreements_seconds_ = median(std::move(seconds));
  }

  // By other parts of a step in every sample and on every rank, and by none if the clock steps back. As in calls, the
  // ranks then exchange records before the first step: else ranks that change partners get into a jam, messages of
  // later steps stand in a link before those that are waited for, and steps take up to 2.5 times as long as in calls.
  void come_to_a_call(double most_seconds) {
    drawn_ = mix(drawn_ + static_cast<std::uint64_t>(transport_.rank()) + 1);
    const double start = now();
    const double end = start + most_seconds * std::ldexp(static_cast<double>(drawn_), -64);
    for (double at = start; at >= start && at < end; at = now()) std::this_thread::yield();
    patterns::on_any_rank(transport_, false);
  }

  Transport& transport_;
  const Effort& effort_;
  double start_;
  double last_;
  double stepped_back_ = 0;
  double spent_ = 0;
  double agreements_seconds_ = 0;
  std::uint64_t drawn_ = 0;
};

}  // namespace dsop
