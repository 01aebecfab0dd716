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

std::vector<std::vector<double>> Samples::arithmetic_seconds(std::size_t repetition) const {
  std::vector<std::vector<double>> rest = seconds[repetition];
  for (const auto* const part : {&message_seconds, &selection_seconds})
    for (std::size_t i = 0; !part->empty() && i < rest.size(); ++i)
      for (std::size_t rank = 0; rank < rest[i].size(); ++rank) rest[i][rank] -= (*part)[repetition][i][rank];
  return rest;
}

Samples Samples::only(std::size_t repetition) const {
  Samples one = *this;
  one.first_repetition += static_cast<int>(repetition);
  for (auto* const part : {&one.seconds, &one.message_seconds, &one.selection_seconds})
    if (!part->empty()) *part = {(*part)[repetition]};
  return one;
}

int runs_a_turn(double seconds, int most) {
  return static_cast<int>(std::ceil(std::clamp(shortest_sample_seconds / seconds, 1.0, static_cast<double>(most))));
}

void time_in_turns(Transport& transport, std::span<Contender* const> contenders, const Protocol& protocol,
                   const std::function<void(const std::string&)>& progress) {
  CommonStart start(transport);
  const StoppingRule rule(static_cast<std::size_t>(protocol.iterations), protocol.precision);
  const auto first = static_cast<std::uint64_t>(protocol.first_repetition);
  std::mt19937_64 random(protocol.seed + first);  // the same on all ranks, and so is the order
  std::vector<Contender*> order(contenders.begin(), contenders.end());

  const int first_iteration = is_simulated() ? 1 : 0;  // 0 warms up
  for (Contender* const contender : contenders) {
    contender->samples.first_repetition = protocol.first_repetition;
    contender->samples.runs_a_turn = contender->runs_a_turn;
    contender->samples.look_confidence = rule.confidence();
  }
  for (int repetition = 0; repetition < protocol.repetitions; ++repetition) {
    for (Contender* const contender : contenders) {
      contender->samples.seconds.emplace_back();
      if (contender->message_seconds) contender->samples.message_seconds.emplace_back();
      if (contender->selection_seconds) contender->samples.selection_seconds.emplace_back();
    }
    const auto all_enough = [&] {
      if (!rule.looks_at(contenders.front()->samples.seconds.back().size())) return false;
      return std::ranges::all_of(contenders, [&](const Contender* contender) {
        return rule.enough(contender->samples.iteration_seconds(contender->samples.seconds.size() - 1));
      });
    };
    for (int iteration = first_iteration; iteration <= 1 || !all_enough(); ++iteration) {
      std::shuffle(order.begin(), order.end(), random);
      for (Contender* const contender : order) {
        std::ostringstream what;
        what << contender->label << ", repetition " << repetition + 1 << " of " << protocol.repetitions
             << ", iteration " << iteration << " of " << protocol.iterations;
        progress(what.str());
        contender->prepare();
        start.wait();
        const auto so_far = [](const std::function<double()>& seconds) { return seconds ? seconds() : 0; };
        const double messages_before = so_far(contender->message_seconds);
        const double selection_before = so_far(contender->selection_seconds);
        const double seconds = seconds_of([&] {
          for (int run = 0; run < contender->runs_a_turn; ++run) contender->run();
        });
        struct Spent {
          double seconds, in_messages, in_selection;
        };
        const std::vector<Spent> ranks =
            of_all_ranks(transport, Spent{seconds, so_far(contender->message_seconds) - messages_before,
                                          so_far(contender->selection_seconds) - selection_before});
        if (iteration == 0) continue;
        const auto keep = [&](auto& samples, double Spent::*part) {
          if (samples.empty()) return;
          std::vector<double>& of_iteration = samples.back().emplace_back();
          for (const Spent& rank : ranks) of_iteration.push_back(rank.*part / contender->runs_a_turn);
        };
        keep(contender->samples.seconds, &Spent::seconds);
        keep(contender->samples.message_seconds, &Spent::in_messages);
        keep(contender->samples.selection_seconds, &Spent::in_selection);
      }
    }
  }
}

}  // namespace dsop::bench
