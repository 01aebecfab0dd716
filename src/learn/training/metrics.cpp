#include "learn/training/metrics.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "base/json_text.hpp"

namespace dsop::learn {

Metrics::Metrics(bool speaks, const std::string& path) : speaks_(speaks), progress_(speaks) {
  if (speaks) rows_.open(path);
}

void Metrics::run(const nlohmann::ordered_json& what, const std::string& plan) {
  if (!speaks_) return;
  nlohmann::ordered_json line{{"kind", "run"}};
  line.update(what);
  rows_.write(line);
  for (const auto& [name, value] : what.items())
    std::cout << "# " << name << ' ' << (value.is_string() ? value.get<std::string>() : json_text(value)) << '\n';
  std::istringstream lines(plan);
  for (std::string text; std::getline(lines, text);) std::cout << "# " << text << '\n';
  std::cout << std::flush;
}

void Metrics::step(const OwnReport& own, std::span<const RankReport> all, double loss, std::size_t samples,
                   std::size_t last_step) {
  if (!speaks_) return;
  double seconds = 0;
  for (const RankReport& rank : all)
    seconds = std::max(seconds, rank.arithmetic_seconds + rank.selection_seconds + rank.communication_seconds);
  if (rows_.is_open()) write_step(own, all, loss, samples, seconds);

  shown_seconds_ += seconds;
  shown_communication_ += own.communication_seconds;
  shown_samples_ += samples;
  if (shown_seconds_ < 0.2) return;
  constexpr std::size_t width = 30;
  const std::size_t filled = std::min(width, own.step * width / last_step);
  std::ostringstream text;
  text << std::fixed << '[' << std::string(filled, '#') << std::string(width - filled, ' ') << "] step " << own.step
       << '/' << last_step << ", loss " << std::setprecision(4) << loss << ", " << std::setprecision(0)
       << static_cast<double>(shown_samples_) / shown_seconds_ << " samples/s, "
       << 100 * shown_communication_ / shown_seconds_ << " % communication";
  progress_.show(text.str());
  shown_seconds_ = shown_communication_ = 0;
  shown_samples_ = 0;
}

void Metrics::write_step(const OwnReport& own, std::span<const RankReport> all, double loss, std::size_t samples,
                         double seconds) {
  const auto of_all = [&](double RankReport::*number) {
    std::vector<double> numbers;
    for (const RankReport& rank : all) numbers.push_back(rank.*number);
    return numbers;
  };
  nlohmann::ordered_json line{{"kind", "step"},
                              {"step", own.step},
                              {"epoch", own.epoch},
                              {"loss", loss},
                              {"samples", samples},
                              {"seconds", seconds},
                              {"arithmetic_seconds", of_all(&RankReport::arithmetic_seconds)},
                              {"selection_seconds", of_all(&RankReport::selection_seconds)},
                              {"communication_seconds", of_all(&RankReport::communication_seconds)}};
  const Selected& selected = own.selected;
  if (selected.target > 0) {
    line["target"] = selected.target;
    line["chosen"] = selected.chosen;
    line["predicted"] = selected.predicted;
    line["in_sum"] = selected.in_sum;
    line["local_evaluations"] = selected.local_evaluations;
    line["global_evaluations"] = selected.global_evaluations;
    line["algorithms"] = selected.algorithms;
    if (selected.xi) line["xi"] = *selected.xi;
  }
  rows_.write(line);
}

void Metrics::epoch(std::size_t epoch, std::size_t step, double mean_loss, double seconds, const Scores& scores,
                    const std::string& weights_hash) {
  if (!speaks_) return;
  nlohmann::ordered_json line{
      {"kind", "epoch"}, {"epoch", epoch}, {"step", step}, {"loss", mean_loss}, {"seconds", seconds}};
  std::ostringstream text;
  text << std::fixed << "epoch " << epoch << ", step " << step << ": loss " << std::setprecision(5) << mean_loss;
  for (const auto& [name, value] : scores) {
    line[name] = value;
    text << ", " << name << ' ' << value;
  }
  line["weights"] = weights_hash;
  text << ", " << std::setprecision(1) << seconds << " s, weights " << weights_hash << '\n';
  rows_.write(line);
  progress_.clear();
  std::cout << text.str() << std::flush;
}

}  // namespace dsop::learn
