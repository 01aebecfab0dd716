#include "output.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include <dsop/errors.hpp>

#include "base/json_text.hpp"
#include "contenders.hpp"
#include "host.hpp"
#include "statistics.hpp"
#include "version.hpp"

namespace dsop::bench {
namespace {

// Without the encoding and the wire that a row's name may end with.
std::string plain_name(const Measurement& row) {
  return row.algorithm.substr(0, row.algorithm.find(':'));
}

const Measurement* find(const std::vector<Measurement>& measurements, const std::string& algorithm) {
  const auto found = std::find_if(measurements.begin(), measurements.end(),
                                  [&](const Measurement& row) { return plain_name(row) == algorithm; });
  return found == measurements.end() ? nullptr : &*found;
}

// Observation i of all contenders was made at the same time, so the ratio is formed within each.
void print_ratio_intervals(std::ostream& out, const std::vector<Measurement>& measurements, const Measurement& base) {
  const std::vector<double> base_seconds = base.samples.observations();
  out << (base_seconds.size() >= 6 ? "# x base, 95 % interval of the median of ratios:"
                                   : "# x base, range of the ratios, too few for an interval:")
      << std::fixed << std::setprecision(2);
  for (const Measurement& row : measurements) {
    if (&row == &base) continue;
    std::vector<double> ratios = row.samples.observations();
    for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = base_seconds[i] / ratios[i];
    const Interval interval = median_interval(ratios, base.samples.observations_confidence());
    out << ' ' << row.algorithm << ' ' << interval.low << ".." << interval.high;
  }
  out << '\n';
}

}  // namespace

void RowsFile::open(const std::string& path) {
  path_ = path;
  if (path.empty()) return;
  out_.open(path, std::ios::app);
  if (!out_) throw Error("--out " + path_ + ": can't be opened for writing");
}

void RowsFile::check_written() {
  if (!out_.flush()) throw Error("--out " + path_ + ": can't be written");
}

void print_table_head(std::ostream& out, const Transport& transport, DataType type, const std::string& base) {
  out << "# dsop-bench " << version << " outer-product, " << name(type) << ", " << ranks_and_cores(transport) << '\n'
      << "# median and p95 over iterations of the slowest rank's time; algbw = bytes(G) / median; sent, msgs and "
         "flops: "
         "the busiest rank's\n"
      << "# predicted: the call's agreement and the algorithm's cost formula, for the machine planned for\n"
      << "# messages: the share of all ranks' time that is spent sending and waiting; the rest is arithmetic\n"
      << "# x base: how many times faster than " << base << " in this run\n"
      << "#    rows     cols  pairs  ranks  algorithm                              median(us)  predicted(us)      "
         "p95(us)  algbw(GB/s)     sent(B)   msgs       flops   x base   #wrong  messages(%)\n"
      << std::flush;
}

void print_table_rows(std::ostream& out, const std::vector<Measurement>& measurements, const std::string& base) {
  const Measurement* const base_row = find(measurements, base);
  for (const Measurement& row : measurements) {
    const Problem& problem = row.problem;
    const std::vector<double> seconds = row.samples.observations();
    const double middle = median(seconds);
    const double gradient_bytes = static_cast<double>(problem.rows) * static_cast<double>(problem.columns) *
                                  static_cast<double>(bytes_of(problem.type));
    out << std::setw(9) << problem.rows << std::setw(9) << problem.columns << std::setw(7) << problem.largest_pairs()
        << std::setw(7) << problem.ranks() << "  " << std::left << std::setw(36) << row.algorithm << std::right
        << std::fixed << std::setprecision(1) << std::setw(13) << middle * 1e6 << std::setw(15);
    if (row.plan)
      out << row.plan->seconds() * 1e6;
    else
      out << '-';
    out << std::setw(13) << quantile(seconds, 0.95) * 1e6 << std::setprecision(3) << std::setw(13)
        << gradient_bytes / middle / 1e9;
    if (row.busiest)
      out << std::setw(12) << row.busiest->bytes << std::setw(7) << row.busiest->messages;
    else
      out << std::setw(12) << '-' << std::setw(7) << '-';
    out << std::scientific << std::setprecision(3) << std::setw(12) << row.flops << std::fixed;
    if (base_row != nullptr)
      out << std::setprecision(2) << std::setw(9) << median(base_row->samples.observations()) / middle;
    else
      out << std::setw(9) << '-';
    if (row.wrong)
      out << std::setw(9) << *row.wrong;
    else
      out << std::setw(9) << '-';
    if (!row.samples.message_seconds.empty())
      out << std::setprecision(1) << std::setw(13) << 100 * row.samples.message_share() << '\n';
    else
      out << std::setw(13) << '-' << '\n';
  }
  if (base_row != nullptr) print_ratio_intervals(out, measurements, *base_row);
  for (const Measurement& row : measurements)
    if (plain_name(row) != "auto" && row.used != plain_name(row))
      out << "# " << row.algorithm << " ran as " << row.used << '\n';
  for (const Measurement& row : measurements)
    if (plain_name(row) == "auto")
      out << "# " << row.algorithm << " used " << row.used << ": " << row.plan->reason << '\n';
  out << std::flush;
}

std::string with_two_decimals(double number) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << number;
  return text.str();
}

void add_samples(nlohmann::ordered_json& row, const Samples& samples, std::size_t repetition) {
  const Interval interval = samples.interval(repetition);
  row["repetition"] = static_cast<std::size_t>(samples.first_repetition) + repetition;
  row["runs_a_turn"] = samples.runs_a_turn;
  row["seconds"] = samples.seconds[repetition];
  row["median_interval"] = {
      {"low", interval.low}, {"high", interval.high}, {"look_confidence", samples.look_confidence}};
}

void write_json_lines(std::ostream& out, const std::vector<Measurement>& measurements, const Transport& transport,
                      const nlohmann::ordered_json& host) {
  for (const Measurement& row : measurements)
    for (std::size_t repetition = 0; repetition < row.samples.seconds.size(); ++repetition) {
      const Problem& problem = row.problem;
      nlohmann::ordered_json json{
          {"family", "outer-product"},
          {"algorithm", row.algorithm},
          {"rows", problem.rows},
          {"columns", problem.columns},
          {"pairs", problem.largest_pairs()},
          {"ranks", problem.ranks()},
          {"dtype", name(problem.type)},
          {"density_a", row.densities.a},
          {"density_b", row.densities.b},
          {"encoding", name(row.encoding)},
          {"wire", name(problem.wire)},
          {"transport", transport.name()},
          {"bytes_sent", nullptr},
          {"messages_sent", nullptr},
          {"formula_bytes", nullptr},
          {"flops", row.flops},
          {"wrong", nullptr},
          {"used", row.used},
          {"external", !row.plan},
          {"auto_choice", nullptr},
          {"predicted_seconds", nullptr},
      };
      add_samples(json, row.samples, repetition);
      json["message_seconds"] = nullptr;
      if (!row.samples.message_seconds.empty()) json["message_seconds"] = row.samples.message_seconds[repetition];
      json["machine"] = nullptr;
      json["host"] = host;
      if (const std::optional<std::string> job = batch_job()) json["job"] = *job;
      if (row.plan) {
        json["auto_choice"] = without_parameter(row.plan->auto_choice);
        json["predicted_seconds"] = row.plan->seconds();
        if (row.probed_seconds) json["probed_seconds"] = *row.probed_seconds;
        json["formula_bytes"] = row.plan->cost().bytes;
        json["machine"] = row.plan->machine.source;
      }
      if (row.busiest) json["bytes_sent"] = row.busiest->bytes;
      if (row.busiest) json["messages_sent"] = row.busiest->messages;
      if (row.wrong) json["wrong"] = *row.wrong;
      if (!row.wire_bytes_per_host.empty()) json["wire_bytes_per_host"] = row.wire_bytes_per_host;
      out << json_text(json) << '\n';
    }
  out << std::flush;
}

}  // namespace dsop::bench
