#include "plan_table.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "base/shown.hpp"
#include "contenders.hpp"
#include "host.hpp"
#include "output.hpp"
#include "program_version.hpp"

namespace dsop::bench {
namespace {

std::vector<Candidate> shown(const Forecast& forecast) {
  const std::vector<Candidate>& all = forecast.plan.candidates;
  double least_seconds = forecast.chosen.seconds();
  for (const Candidate& candidate : all)
    if (candidate.unsupported.empty()) least_seconds = std::min(least_seconds, candidate.seconds());
  std::vector<Candidate> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some), [&](const Candidate& candidate) {
    return candidate.unsupported.empty() &&
           (candidate.seconds() <= near_factor * least_seconds || candidate.algorithm == forecast.dense.algorithm);
  });
  return some;
}

// After the agreement.
double communication_seconds(const Candidate& candidate) {
  return candidate.piggybacks ? 0 : candidate.cost.communication_seconds;
}
std::size_t messages(const Candidate& candidate) {
  return candidate.piggybacks ? 0 : candidate.cost.messages;
}

std::string where_factors_stop_paying(const Forecast& forecast) {
  if (!forecast.factors_pay_to_pairs) return "factors pay with " + std::to_string(most_pairs) + " pairs a rank too";
  if (*forecast.factors_pay_to_pairs == 0) return "factors do not pay with any number of pairs";
  return "factors pay up to " + std::to_string(*forecast.factors_pay_to_pairs) + " pairs a rank";
}

void print_choice(std::ostream& out, const Forecast& forecast) {
  out << "# auto takes " << forecast.chosen.algorithm << ": " << forecast.plan.reason << "; ";
  if (forecast.factors_pay())
    out << with_two_decimals(forecast.gain()) << "x faster than " << forecast.dense.algorithm << "; ";
  out << where_factors_stop_paying(forecast) << '\n';
  const Problem& problem = forecast.plan.problem;
  const std::string warning = why_not_valid(forecast.plan.machine, problem.ranks(), problem.group.nodes);
  if (!warning.empty()) out << "# warning: " << warning << '\n';
}

}  // namespace

void print_plan_head(std::ostream& out, const PlanOptions& options) {
  out << "# dsop-bench " << version << " plan, " << name(options.type)
      << "; machine: " << printable(options.machine.source)
      << "\n# nothing is run: seconds are those of the algorithms' cost formulas, and of the agreement that opens a "
         "call\n";
  if (options.ranks_per_node > 1 && options.machine.inner_levels.empty())
    out << "# the machine has one level: messages inside a node cost what others do\n";
}

void print_plan_table(std::ostream& out, const std::vector<Forecast>& forecasts) {
  out << "# listed: what is within " << near_factor
      << " times the least, and the fastest that sends G alone; sent and msgs: the busiest rank's\n"
         "# x dense: how many times faster than the fastest that sends G alone, outside the MPI library, by the times "
         "that\n"
         "#   auto compares: with a part of what could hide behind messages alone\n"
         "#    rows     cols  pairs  ranks  a node       rate  algorithm                                        "
         "predicted(us)  "
         "agreement(us)  network(us)  arithmetic(us)      sent(B)   msgs  x dense\n";
  for (const Forecast& forecast : forecasts) {
    const Problem& problem = forecast.plan.problem;
    for (const Candidate& candidate : shown(forecast)) {
      const Cost& cost = candidate.cost;
      out << std::setw(9) << problem.rows << std::setw(9) << problem.columns << std::setw(7) << problem.largest_pairs()
          << std::setw(7) << problem.ranks() << std::setw(8) << forecast.ranks_per_node << std::setw(11)
          << (forecast.rate ? forecast.rate->text : "-") << "  " << std::left << std::setw(46) << candidate.algorithm
          << std::right << std::fixed << std::setprecision(1) << std::setw(16) << candidate.seconds() * 1e6
          << std::setw(15) << candidate.agreement_seconds * 1e6 << std::setw(13)
          << communication_seconds(candidate) * 1e6 << std::setw(16) << cost.arithmetic_seconds * 1e6 << std::setw(13)
          << cost.bytes << std::setw(7) << messages(candidate) << std::setprecision(2) << std::setw(9)
          << forecast.gain_of(candidate) << '\n';
    }
    print_choice(out, forecast);
  }
  out << std::flush;
}

void write_plan_lines(std::ostream& out, const std::vector<Forecast>& forecasts) {
  const nlohmann::ordered_json host = host_facts();
  for (const Forecast& forecast : forecasts)
    for (const Candidate& candidate : shown(forecast)) {
      const Problem& problem = forecast.plan.problem;
      nlohmann::ordered_json json{
          {"family", "plan"},
          {"algorithm", without_parameter(candidate.algorithm)},
          {"used", candidate.algorithm},
          {"rows", problem.rows},
          {"columns", problem.columns},
          {"pairs", problem.largest_pairs()},
          {"ranks", problem.ranks()},
          {"ranks_per_node", forecast.ranks_per_node},
          {"rate", nullptr},
          {"dtype", name(problem.type)},
          {"wire", name(problem.wire)},
          {"predicted_seconds", candidate.seconds()},
          {"agreement_seconds", candidate.agreement_seconds},
          {"communication_seconds", communication_seconds(candidate)},
          {"arithmetic_seconds", candidate.cost.arithmetic_seconds},
          {"formula_bytes", candidate.cost.bytes},
          {"formula_messages", messages(candidate)},
          {"auto_choice", without_parameter(forecast.chosen.algorithm)},
          {"dense_choice", without_parameter(forecast.dense.algorithm)},
          {"gain", forecast.gain()},
          {"factors_pay", forecast.factors_pay()},
          {"factors_pay_to_pairs", nullptr},
          {"machine", forecast.plan.machine.source},
          {"host", host},
      };
      if (forecast.rate) json["rate"] = forecast.rate->text;
      if (forecast.factors_pay_to_pairs) json["factors_pay_to_pairs"] = *forecast.factors_pay_to_pairs;
      out << json_text(json) << '\n';
    }
}

}  // namespace dsop::bench
