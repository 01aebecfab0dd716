#include "learn/linear/epoch_log.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

namespace dsop::learn {

EpochLog::EpochLog(const LinearSettings& settings, const Transport& transport, std::ostream& table)
    : settings_(settings),
      table_(table),
      transport_(transport.name()),
      ranks_(transport.size()),
      progress_(transport.rank() == 0) {
  if (transport.rank() == 0) rows_.open(settings.out);
}

void EpochLog::print_head(const LinearData& data, std::size_t epoch) {
  table_ << "# " << settings_.loss->name << " on " << data.samples << " samples of " << data.features
         << " features, --sync " << settings_.sync << ", ranks " << ranks_ << " (" << transport_ << "), batch "
         << settings_.batch << " a rank, " << data.steps << " steps an epoch\n";
  if (!settings_.resume.empty())
    table_ << "# goes on from " << settings_.resume << ", after epoch " << epoch - 1 << '\n';
  table_ << "#epoch      loss  test_loss  test_accuracy    total  arithmetic  communication     data (seconds)\n";
  has_head_ = true;
}

void EpochLog::row(const LinearData& data, std::size_t epoch, std::span<const EpochPart> parts,
                   double weights_squared) {
  check();
  EpochPart all;
  for (const EpochPart& part : parts) {
    all.loss += part.loss;
    all.test_loss += part.test_loss;
    all.test_correct += part.test_correct;
    all.total_seconds = std::max(all.total_seconds, part.total_seconds);
    all.arithmetic_seconds = std::max(all.arithmetic_seconds, part.arithmetic_seconds);
    all.communication_seconds = std::max(all.communication_seconds, part.communication_seconds);
    all.data_seconds = std::max(all.data_seconds, part.data_seconds);
  }
  const auto test_samples = static_cast<double>(data.test_samples);
  nlohmann::ordered_json row{{"model", "linear"},
                             {"loss_function", settings_.loss->name},
                             {"sync", settings_.sync},
                             {"ranks", ranks_},
                             {"threads", settings_.threads},
                             {"hogwild", settings_.hogwild},
                             {"transport", transport_},
                             {"batch", settings_.batch},
                             {"learning_rate", settings_.learning_rate},
                             {"rate_schedule", settings_.rate_schedule == RateSchedule::inverse ? "1/t" : "constant"},
                             {"decay", settings_.decay},
                             {"l2", settings_.l2},
                             {"seed", settings_.seed},
                             {"samples", data.samples},
                             {"features", data.features},
                             {"steps", data.steps},
                             {"epoch", epoch}};
  row["loss"] = all.loss / static_cast<double>(data.samples) + settings_.l2 / 2 * weights_squared;
  row["test_loss"] = nullptr;
  row["test_accuracy"] = nullptr;
  if (data.test_samples > 0) row["test_loss"] = all.test_loss / test_samples;
  if (data.test_samples > 0 && settings_.loss->labels == Labels::two_classes)
    row["test_accuracy"] = all.test_correct / test_samples;
  row["total_seconds"] = all.total_seconds;
  row["arithmetic_seconds"] = all.arithmetic_seconds;
  row["communication_seconds"] = all.communication_seconds;
  row["data_seconds"] = all.data_seconds;

  progress_.clear();
  if (!has_head_) print_head(data, epoch);
  table_ << std::setw(6) << epoch;
  const auto column = [&](const char* name, int width, int decimals) {
    std::ostringstream number;
    if (row[name].is_number())
      number << std::fixed << std::setprecision(decimals) << row[name].get<double>();
    else
      number << '-';
    table_ << "  " << std::setw(width) << number.str();
  };
  column("loss", 8, 5);
  column("test_loss", 9, 5);
  column("test_accuracy", 13, 4);
  column("total_seconds", 7, 3);
  column("arithmetic_seconds", 10, 3);
  column("communication_seconds", 13, 3);
  column("data_seconds", 7, 3);
  table_ << std::endl;
  rows_.write(row);
}

void EpochLog::show(const LinearData& data, std::size_t epoch, std::size_t step, const EpochPart& part) {
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  const auto samples = static_cast<double>(part.samples);
  const double seconds = part.arithmetic_seconds + part.communication_seconds;
  std::ostringstream text;
  text << std::fixed << "epoch " << epoch << '/' << settings_.epochs << ", step " << step << '/' << data.steps;
  if (part.samples > 0)
    text << ", loss " << std::setprecision(4) << part.loss / samples << ", " << std::setprecision(0)
         << samples / seconds << " samples/s a rank, " << 100 * part.communication_seconds / seconds
         << " % communication";
  progress_.show(text.str());
}

}  // namespace dsop::learn
