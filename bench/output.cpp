#include "output.hpp"

#include <algorithm>
#include <iomanip>
#include <ostream>

#include "host.hpp"
#include "outer_product/algorithm.hpp"
#include "statistics.hpp"
#include "version.hpp"

namespace dsop::bench {
namespace {

// What runs inside the MPI library can't be counted.
bool countable(const Measurement& row) {
  const DenseAlgorithm* const dense = row.plan.algorithm->dense;
  return dense == nullptr || !dense->native;
}

const Measurement* find(const std::vector<Measurement>& measurements, const std::string& algorithm) {
  const auto found = std::find_if(measurements.begin(), measurements.end(),
                                  [&](const Measurement& row) { return row.algorithm == algorithm; });
  return found == measurements.end() ? nullptr : &*found;
}

const std::string& fastest_predicted(const Measurement& row) {
  return row.plan.candidates.front().algorithm;
}

}  // namespace

void print_table_head(std::ostream& out, const Transport& transport, DataType type, const std::string& base) {
  out << "# dsop-bench " << version << " outer-product, " << name(type) << ", " << ranks_and_cores(transport) << '\n'
      << "# median and p95 over iterations of the slowest rank's time; algbw = bytes(G) / median; sent, msgs and "
         "flops: "
         "the busiest rank's\n"
      << "# x base: how many times faster than " << base << " in this run\n"
      << "#    rows     cols  pairs  ranks  algorithm                    median(us)      p95(us)  algbw(GB/s)     "
         "sent(B)   msgs       flops   x base   #wrong\n"
      << std::flush;
}

void print_table_rows(std::ostream& out, const std::vector<Measurement>& measurements, const std::string& base) {
  const Measurement* const base_row = find(measurements, base);
  for (const Measurement& row : measurements) {
    const Problem& problem = row.plan.problem;
    const std::vector<double> seconds = row.iteration_seconds();
    const double middle = median(seconds);
    const double gradient_bytes = static_cast<double>(problem.rows) * static_cast<double>(problem.columns) *
                                  static_cast<double>(bytes_of(problem.type));
    out << std::setw(9) << problem.rows << std::setw(9) << problem.columns << std::setw(7) << problem.largest_pairs()
        << std::setw(7) << problem.ranks() << "  " << std::left << std::setw(26) << row.algorithm << std::right
        << std::fixed << std::setprecision(1) << std::setw(13) << middle * 1e6 << std::setw(13)
        << quantile(seconds, 0.95) * 1e6 << std::setprecision(3) << std::setw(13) << gradient_bytes / middle / 1e9;
    if (countable(row))
      out << std::setw(12) << row.busiest.bytes << std::setw(7) << row.busiest.messages;
    else
      out << std::setw(12) << '-' << std::setw(7) << '-';
    out << std::scientific << std::setprecision(3) << std::setw(12) << row.plan.cost().flops << std::fixed;
    if (base_row != nullptr)
      out << std::setprecision(2) << std::setw(9) << median(base_row->iteration_seconds()) / middle;
    else
      out << std::setw(9) << '-';
    if (row.wrong)
      out << std::setw(9) << *row.wrong << '\n';
    else
      out << std::setw(9) << '-' << '\n';
  }
  if (const Measurement* const choice = find(measurements, "auto"))
    out << "# auto used " << choice->plan.algorithm_name() << ": " << choice->plan.reason << '\n';
  out << std::flush;
}

void write_json_lines(std::ostream& out, const std::vector<Measurement>& measurements, const Transport& transport,
                      const nlohmann::ordered_json& host) {
  for (const Measurement& row : measurements) {
    const Problem& problem = row.plan.problem;
    nlohmann::ordered_json json{
        {"family", "outer-product"},
        {"algorithm", row.algorithm},
        {"rows", problem.rows},
        {"columns", problem.columns},
        {"pairs", problem.largest_pairs()},
        {"ranks", problem.ranks()},
        {"dtype", name(problem.type)},
        {"transport", transport.name()},
        {"bytes_sent", nullptr},
        {"messages_sent", nullptr},
        {"flops", row.plan.cost().flops},
        {"wrong", nullptr},
        {"used", row.plan.algorithm_name()},
        {"auto_choice", fastest_predicted(row)},
        {"predicted_seconds", row.plan.cost().seconds()},
        {"seconds", row.seconds},
        {"machine", row.plan.machine.source},
        {"host", host},
    };
    if (countable(row)) {
      json["bytes_sent"] = row.busiest.bytes;
      json["messages_sent"] = row.busiest.messages;
    }
    if (row.wrong) json["wrong"] = *row.wrong;
    out << json.dump() << '\n';
  }
  out << std::flush;
}

}  // namespace dsop::bench
