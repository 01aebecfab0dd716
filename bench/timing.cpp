#include "timing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <sstream>

#include "clock.hpp"
#include "collect.hpp"
#include "common_start.hpp"
#include "host.hpp"
#include "stopping_rule.hpp"

namespace dsop::bench {

std::vector<double> Samples::iteration_seconds(std::size_t repetition) const {
  std::vector<double> slowest;
  for (const std::vector<double>& ranks : seconds[repetition])
    slowest.push_back(*std::max_element(ranks.begin(), ranks.end()));
  return slowest;
}

double Samples::message_share() const {
  const auto sum = [](const std::vector<double>& ranks) { return std::accumulate(ranks.begin(), ranks.end(), 0.0); };
  std::vector<double> shares;
  for (std::size_t r = 0; r < seconds.size(); ++r)
    for (std::size_t i = 0; i < seconds[r].size(); ++i)
      shares.push_back(sum(message_seconds[r][i]) / sum(seconds[r][i]));
  return median(shares);
}

std::vector<double> Samples::observations() const {
  if (seconds.size() == 1) return iteration_seconds(0);
  std::vector<double> medians;
  for (std::size_t repetition = 0; repetition < seconds.size(); ++repetition)
    medians.push_back(median(iteration_seconds(repetition)));
  return medians;
}

int runs_a_turn(double fastest_seconds) {
  constexpr double most = 100;
  return static_cast<int>(std::ceil(std::clamp(shortest_sample_seconds / fastest_seconds, 1.0, most)));
}

std::vector<Samples> time_in_turns(Transport& transport, const std::vector<Contender>& contenders,
                                   const Protocol& protocol, const std::function<void(const std::string&)>& progress) {
  CommonStart start(transport);
  const StoppingRule rule(static_cast<std::size_t>(protocol.iterations), protocol.precision);
  const auto first = static_cast<std::uint64_t>(protocol.first_repetition);
  std::mt19937_64 random(protocol.seed + first);  // the same on all ranks, and so is the order
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});

  const int first_iteration = is_simulated() ? 1 : 0;  // 0 warms up
  std::vector<Samples> samples(contenders.size());
  for (Samples& s : samples) {
    s.first_repetition = protocol.first_repetition;
    s.runs_a_turn = protocol.runs_a_turn;
    s.look_confidence = rule.confidence();
  }
  for (int repetition = 0; repetition < protocol.repetitions; ++repetition) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i].seconds.emplace_back();
      if (contenders[i].message_seconds) samples[i].message_seconds.emplace_back();
    }
    const auto all_enough = [&] {
      if (!rule.looks_at(samples.front().seconds.back().size())) return false;
      return std::all_of(samples.begin(), samples.end(),
                         [&](const Samples& s) { return rule.enough(s.iteration_seconds(s.seconds.size() - 1)); });
    };
    for (int iteration = first_iteration; iteration <= 1 || !all_enough(); ++iteration) {
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t i : order) {
        std::ostringstream what;
        what << contenders[i].name << ", repetition " << repetition + 1 << " of " << protocol.repetitions
             << ", iteration " << iteration << " of " << protocol.iterations;
        progress(what.str());
        if (contenders[i].prepare) contenders[i].prepare();
        start.wait();
        const auto& message_seconds = contenders[i].message_seconds;
        const double before = message_seconds ? message_seconds() : 0;
        const double seconds = seconds_of([&] {
          for (int run = 0; run < protocol.runs_a_turn; ++run) contenders[i].run();
        });
        const double in_messages = message_seconds ? message_seconds() - before : 0;
        const std::vector<double> ranks = of_all_ranks(transport, seconds / protocol.runs_a_turn);
        const std::vector<double> ranks_in_messages = of_all_ranks(transport, in_messages / protocol.runs_a_turn);
        if (iteration == 0) continue;
        samples[i].seconds.back().push_back(ranks);
        if (message_seconds) samples[i].message_seconds.back().push_back(ranks_in_messages);
      }
    }
  }
  return samples;
}

}  // namespace dsop::bench
