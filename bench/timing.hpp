// The protocol by which contenders are timed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <dsop/transport.hpp>

#include "statistics.hpp"

namespace dsop::bench {

/// Repetitions of iterations, as in the DSOP paper: a repetition's first iteration is dropped, its observation is the
/// median of the others. Within an iteration every contender has its turn, in an order drawn anew, so that a drift of
/// the machine hits all alike. A repetition ends early when every contender's median is known to +- `precision`.
struct Protocol {
  int repetitions = 1;
  int first_repetition = 0;  ///< its number, where others have made those before it; their orders differ too
  int iterations = 20;       ///< that count, at most
  double precision = 0;      ///< 0.05 is 5 %; 0: never early
  std::uint64_t seed = 1;
};

/// One contender's seconds: by repetition, by iteration, by rank.
class Samples {
 public:
  std::vector<std::vector<std::vector<double>>> seconds;
  /// Of these, spent in messages, and in selections; empty where that can't be seen, or there are none.
  std::vector<std::vector<std::vector<double>>> message_seconds;
  std::vector<std::vector<std::vector<double>>> selection_seconds;
  int first_repetition = 0;  ///< the number of seconds[0]
  int runs_a_turn = 1;       ///< of which each number of seconds is the mean
  double look_confidence =
      0.95;  ///< of an interval, so that a repetition's stopping rule leaves 0.95 over all its looks

  /// Of one repetition: each iteration's time is that of its slowest rank.
  std::vector<double> iteration_seconds(std::size_t repetition) const;
  /// A 95 % interval of one repetition's median, whatever ended the repetition.
  Interval interval(std::size_t repetition) const {
    return median_interval(iteration_seconds(repetition), look_confidence);
  }
  /// The share of all ranks' time that they spend in messages: the median over all iterations. Not where
  /// message_seconds is empty.
  double message_share() const;
  /// What is left of a repetition's seconds: by iteration, by rank. Not where message_seconds is empty.
  std::vector<std::vector<double>> arithmetic_seconds(std::size_t repetition) const;
  /// As if that repetition had been the only one.
  Samples only(std::size_t repetition) const;
  /// What medians and intervals are made of: with several repetitions the median of each, else all iterations.
  std::vector<double> observations() const;
  /// The confidence to ask of an interval made of observations, or of ratios of them, to get 0.95.
  double observations_confidence() const { return seconds.size() == 1 ? look_confidence : 0.95; }
};

struct Contender {
  virtual ~Contender() = default;
  /// One call, as it is timed.
  virtual void run() = 0;
  /// Before each turn, outside the clock.
  virtual void prepare() {
    for (int call = 0; call < untimed_calls; ++call) run();
  }

  std::string label;                               ///< what table and file call it
  int untimed_calls = 0;                           ///< before each turn
  int runs_a_turn = 1;                             ///< one after the other; their mean counts
  std::function<double()> message_seconds = {};    ///< spent in messages so far; empty: that can't be seen
  std::function<double()> selection_seconds = {};  ///< the same of selections; empty: it makes none
  Samples samples = {};
};

/// How many runs a turn should have where a call takes so long: as many as last shortest_sample_seconds, but `most`.
int runs_a_turn(double seconds, int most);

/// Times all contenders. All ranks call it and all get all ranks' samples. `progress` is told what runs.
void time_in_turns(Transport& transport, std::span<Contender* const> contenders, const Protocol& protocol,
                   const std::function<void(const std::string&)>& progress);

}  // namespace dsop::bench
