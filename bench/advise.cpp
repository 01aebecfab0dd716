#include "advise.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <dsop/dsop.hpp>
#include <dsop/errors.hpp>

#include "advice.hpp"
#include "base/json_text.hpp"
#include "base/shown.hpp"
#include "collect.hpp"
#include "command_options.hpp"
#include "host.hpp"
#include "launch/command_line.hpp"
#include "launch/launch.hpp"
#include "named_machine.hpp"
#include "output.hpp"
#include "program_version.hpp"

namespace dsop::bench {
namespace {

constexpr double most_memory_cores = 4;  // more cores of a rank read and write no faster

struct Line {
  PlanOptions plan;
  Model model;
  std::string rate;
  std::string machine;
  bool probe = false;
  int cores = 1;
  double step_ms = 0;
  std::string out;
};

Machine machine_of(const Line& line) {
  Machine machine = named_machine(line.machine.empty() ? "ethernet" : line.machine);
  if (line.cores > 1) {
    machine.flops_per_second *= line.cores;
    machine.blas_flops_per_second *= line.cores;
    for (double* const rate :
         {&machine.memory_bytes_per_second, &machine.write_bytes_per_second, &machine.large_write_bytes_per_second})
      *rate *= std::min<double>(line.cores, most_memory_cores);
    machine.source.resize(std::min(machine.source.find(';'), machine.source.size()));  // "; one core a rank, assumed"
    machine.source += "; " + std::to_string(line.cores) + " cores a rank, assumed";
  }
  return machine;
}

std::string in_ms(double seconds) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(seconds < 0.01 ? 2 : seconds < 0.1 ? 1 : 0) << seconds * 1e3 << " ms";
  return text.str();
}

std::string verdict(const Advice& advice, double step_seconds) {
  const double dense = step_seconds + advice.dense_seconds;
  const double dsop = step_seconds + advice.dsop_seconds;
  const std::string sums = "sums take " + in_ms(advice.dsop_seconds) + " instead of " + in_ms(advice.dense_seconds);
  std::string text = dense / dsop < least_gain ? "no gain: " : "it helps: ";
  if (step_seconds > 0)
    text += "a step of " + in_ms(dense) + " with dense sums takes " + in_ms(dsop) + " with dsop, " +
            with_two_decimals(dense / dsop) + "x, if neither hides behind arithmetic; ";
  return text + sums + ", " + with_two_decimals(advice.gain()) + "x";
}

std::string where_it_stops(const Line& line) {
  const std::size_t batch = largest_batch_that_pays(line.model, line.plan);
  if (batch > most_batch) return "it pays with a batch of " + std::to_string(most_batch) + " a rank, too";
  return batch == 0 ? "it pays with no batch" : "it pays up to a batch of " + std::to_string(batch) + " a rank";
}

/// Others that are predicted to take as long as what auto takes.
std::string equals_of(const Forecast& forecast) {
  std::string names;
  for (const Candidate& other : forecast.plan.candidates)
    if (other.unsupported.empty() && other.algorithm != forecast.chosen.algorithm &&
        std::abs(other.seconds() - forecast.chosen.seconds()) <= 0.01 * forecast.chosen.seconds())
      names += (names.empty() ? "" : ", ") + other.algorithm;
  return names;
}

void print_advice(std::ostream& out, const Line& line, const Advice& advice) {
  out << verdict(advice, line.step_ms / 1e3) << '\n'
      << where_it_stops(line) << "\n"
      << "try: dsop.torch.attach(model) in PyTorch, dsop::Synchronizer in C++; --wire bf16; `mpirun -n "
      << line.plan.ranks.front() << " dsop-bench calibrate`, then --machine machine.json\n"
      << "# dsop-bench " << version << " advise, " << name(line.plan.type) << ", " << line.plan.ranks.front()
      << " ranks, " << line.model.batch
      << " samples a rank; predicted for: " << printable(advice.forecasts.front().plan.machine.source)
      << "\n# pays to batch: from there on auto sends the layer's gradient alone\n# layer                  rows     "
         "cols  pairs  weights  auto takes                                  ms  "
         "dense ms      gain  pays to batch\n";
  for (std::size_t i = 0; i < advice.layers.size(); ++i) {
    const Layer& layer = advice.layers[i];
    const Forecast& forecast = advice.forecasts[i];
    const double gain = forecast.dense.seconds() / forecast.chosen.seconds();
    out << "  " << std::left << std::setw(20) << layer.name << std::right << std::setw(7) << layer.point.rows
        << std::setw(9) << layer.point.columns << std::setw(7) << layer.point.pairs << std::setw(9) << layer.weights
        << "  " << std::left << std::setw(38) << forecast.chosen.algorithm << std::right << std::fixed
        << std::setprecision(2) << std::setw(8) << forecast.chosen.seconds() * 1e3 << std::setw(10)
        << forecast.dense.seconds() * 1e3 << std::setw(10) << (gain < least_gain ? "no gain" : with_two_decimals(gain))
        << std::setw(15)
        << (forecast.factors_pay_to_pairs ? std::to_string(*forecast.factors_pay_to_pairs / layer.pairs_a_sample)
                                          : "any")
        << '\n'
        << std::defaultfloat;
    if (const std::string equals = equals_of(forecast); !equals.empty()) out << "# as fast: " << equals << '\n';
  }
  const auto print_shared = [&](const SharedCalls& shared, const char* what) {
    if (shared.weights > 1)
      out << "# " << shared.weights << " weights share calls that " << what << ", " << shared.calls
          << " in all: " << in_ms(shared.seconds) << '\n';
  };
  print_shared(advice.factors, "gather their factors");
  print_shared(advice.gradients, "sum their gradients");
  out << std::flush;
}

const char* text_of(outer_product::Shared shared) {
  return shared == outer_product::Shared::factors ? "factors" : "gradient";
}

void write_advice(std::ostream& out, const Line& line, const Advice& advice) {
  for (std::size_t i = 0; i < advice.layers.size(); ++i) {
    const Layer& layer = advice.layers[i];
    const Forecast& forecast = advice.forecasts[i];
    nlohmann::ordered_json json{{"family", "advise"},
                                {"layer", layer.name},
                                {"rows", layer.point.rows},
                                {"columns", layer.point.columns},
                                {"pairs", layer.point.pairs},
                                {"weights", layer.weights},
                                {"ranks", line.plan.ranks.front()},
                                {"auto_choice", forecast.chosen.algorithm},
                                {"predicted_seconds", forecast.chosen.seconds()},
                                {"dense_choice", forecast.dense.algorithm},
                                {"dense_seconds", forecast.dense.seconds()},
                                {"pays_to_batch", nullptr},
                                {"shares", nullptr},
                                {"step_seconds", nullptr},
                                {"machine", forecast.plan.machine.source},
                                {"host", host_facts()}};
    if (forecast.factors_pay_to_pairs) json["pays_to_batch"] = *forecast.factors_pay_to_pairs / layer.pairs_a_sample;
    if (advice.shared[i] != outer_product::Shared::nothing) json["shares"] = text_of(advice.shared[i]);
    if (line.step_ms > 0) json["step_seconds"] = line.step_ms / 1e3 + advice.dsop_seconds;
    out << json_text(json) << '\n';
  }
}

void advise(const Line& line) {
  if (line.plan.ranks.front() < 2)
    throw ArgumentError("--ranks is " + std::to_string(line.plan.ranks.front()) +
                        ", expected at least 2: one sends nothing");
  RowsFile file(line.out);
  Advice advice = advice_of(layers_of(line.model), line.plan);
  for (Forecast& forecast : advice.forecasts) forecast.factors_pay_to_pairs = factors_pay_to_pairs(forecast);
  print_advice(std::cout, line, advice);
  file.append([&](std::ostream& out) { write_advice(out, line, advice); });
}

int run(Line& line) {
  if (!line.rate.empty()) line.plan.rates = parse_rates("--rate", line.rate);
  if (line.plan.rates.size() > 1)
    throw ArgumentError("--rate is '" + printable(line.rate) + "', expected one rate, as 1gbit");
  if (line.plan.ranks.size() != 1)
    throw ArgumentError("--ranks has " + std::to_string(line.plan.ranks.size()) + " numbers, expected one");
  if (line.probe)
    return launch::run({}, static_cast<int>(line.plan.ranks.front()), [&](Transport& transport) {
      Line own = line;  // ranks may be threads
      own.plan.machine = dsop::machine(transport);
      own.plan.ranks = {static_cast<std::size_t>(transport.size())};
      const std::vector<int> nodes = nodes_of_ranks(transport);
      own.plan.ranks_per_node = nodes.empty() ? 1 : static_cast<std::size_t>(std::ranges::count(nodes, nodes.front()));
      launch::on_all_ranks(transport, [&] {
        if (transport.rank() == 0) advise(own);
      });
    });
  if (line.machine.empty() && line.rate.empty())
    throw ArgumentError(
        "nothing says how fast the network is, expected --rate 1gbit, --machine FILE, or --probe under mpirun");
  return launch::run_alone([&] {
    line.plan.machine = machine_of(line);
    advise(line);
  });
}

}  // namespace

void add_advise(CLI::App& app, int& status) {
  const auto line = std::make_shared<Line>();
  CLI::App* const command = app.add_subcommand("advise", "Whether dsop helps a model, and how much a step gains");
  command->add_option("--model", line->model.widths, "Widths of fully connected layers, as 1024-2048-2048-100");
  command->add_option("--lstm", line->model.lstm, "Inputs and hidden widths of an LSTM's layers, as 512-1024-1024");
  command->add_option("--time-steps", line->model.time_steps, "Of the LSTM: a sample is so many pairs")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--batch", line->model.batch, "Samples of a rank")->required()->check(CLI::Range(1, 1 << 20));
  add_numbers(command, "--ranks", "4", line->plan.ranks, "Ranks P");
  command->add_option("--ranks-per-node", line->plan.ranks_per_node, "Ranks that fill a node before the next")
      ->check(CLI::Range(std::size_t{1}, most_planned_ranks))
      ->capture_default_str();
  command->add_option("--rate", line->rate, "Of a host's link, as 1gbit");
  command->add_option("--machine", line->machine,
                      "Machine to plan for: a file that calibrate has written, or " + names_of_machines());
  command->add_flag("--probe", line->probe, "Plan for the ranks at hand, under mpirun, and the machine that they find")
      ->excludes(command->get_option("--machine"))
      ->excludes(command->get_option("--rate"))
      ->excludes(command->get_option("--ranks"));
  command->add_option("--cores", line->cores, "Of a rank, for its arithmetic, where no machine was measured")
      ->check(CLI::Range(1, 1024))
      ->excludes(command->get_option("--probe"))
      ->excludes(command->get_option("--machine"))
      ->capture_default_str();
  command->add_option("--step-ms", line->step_ms, "What a training step takes on one rank, without sums, in ms")
      ->check(CLI::PositiveNumber);
  add_dtype(command, line->plan.type);
  launch::add_choice(command, "--wire", line->plan.wire, Wire::bf16, "full, or bf16: parts of G travel in 16 bits");
  command->add_option("--out", line->out, "Append one JSON object a layer to this file");
  command->callback([line, &status] { status = run(*line); });
}

}  // namespace dsop::bench
