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

#include "base/json_text.hpp"
#include "base/shown.hpp"
#include "command_options.hpp"
#include "host.hpp"
#include "launch/command_line.hpp"
#include "launch/launch.hpp"
#include "lists.hpp"
#include "named_machine.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "version.hpp"

namespace dsop::bench {
namespace {

constexpr double least_gain = 1.15;      // less is within what runs differ by
constexpr double most_memory_cores = 4;  // more cores of a rank read and write no faster

struct Line {
  PlanOptions plan{.ranks = {4}};
  std::string model;
  std::string lstm;
  std::size_t time_steps = 35;
  std::size_t batch = 0;
  std::string rate;
  std::string machine;
  bool probe = false;
  int cores = 1;
  double step_ms = 0;
  std::string out;
};

struct Layer {
  std::string name;
  Point point;
  std::size_t pairs_a_sample;
  std::size_t weights = 1;  // of this shape
};

/// "1024-2048-100": the widths, at least two, whose products fit.
std::vector<std::size_t> widths(const std::string& option, const std::string& text) {
  std::vector<std::size_t> found;
  for (const std::string& part : split(text, '-')) {
    const std::vector<std::size_t> number = parse_numbers(option, part);
    if (number.size() != 1 || number[0] > (std::size_t{1} << 24))
      throw ArgumentError(option + " is '" + printable(text) +
                          "', expected widths from 1 to 16777216, as 1024-2048-100");
    found.push_back(number[0]);
  }
  if (found.size() < 2 || found.size() > 1000)
    throw ArgumentError(option + " is '" + printable(text) + "', expected two to a thousand widths, as 1024-2048-100");
  return found;
}

std::vector<Layer> layers_of(const Line& line) {
  std::vector<Layer> layers;
  if (!line.model.empty()) {
    const std::vector<std::size_t> model = widths("--model", line.model);
    for (std::size_t i = 1; i < model.size(); ++i)
      layers.push_back({"layer " + std::to_string(i), {model[i - 1], model[i], line.batch}, 1});
  }
  if (!line.lstm.empty()) {
    const std::vector<std::size_t> model = widths("--lstm", line.lstm);
    const std::size_t pairs = line.batch * line.time_steps;
    for (std::size_t i = 1; i < model.size(); ++i) {
      layers.push_back(
          {"lstm " + std::to_string(i) + ", inputs", {model[i - 1], 4 * model[i], pairs}, line.time_steps});
      layers.push_back({"lstm " + std::to_string(i) + ", hidden", {model[i], 4 * model[i], pairs}, line.time_steps});
    }
  }
  if (layers.empty()) throw ArgumentError("no model, expected --model 1024-2048-100 or --lstm 512-1024");
  // One line for what is of one shape.
  std::vector<Layer> shapes;
  for (const Layer& layer : layers) {
    const auto same = std::find_if(shapes.begin(), shapes.end(), [&](const Layer& other) {
      return other.point.rows == layer.point.rows && other.point.columns == layer.point.columns &&
             other.point.pairs == layer.point.pairs;
    });
    same == shapes.end() ? shapes.push_back(layer) : void(++same->weights);
  }
  return shapes;
}

Machine machine_of(const Line& line) {
  Machine machine = named_machine(line.machine.empty() ? "ethernet" : line.machine);
  if (line.cores > 1) {
    machine.flops_per_second *= line.cores;
    machine.blas_flops_per_second *= line.cores;
    for (double* const rate :
         {&machine.memory_bytes_per_second, &machine.write_bytes_per_second, &machine.large_write_bytes_per_second})
      *rate *= std::min<double>(line.cores, most_memory_cores);
    machine.source += ", " + std::to_string(line.cores) + " cores a rank, assumed";
  }
  return machine;
}

struct Advice {
  std::vector<Layer> layers;
  std::vector<Forecast> forecasts;  // one a layer
  double dense_seconds = 0;
  double dsop_seconds = 0;

  double gain() const { return dense_seconds / dsop_seconds; }
};

Advice advice_of(const std::vector<Layer>& layers, const PlanOptions& options) {
  Advice advice{layers, {}};
  PlanOptions one = options;
  for (const Layer& layer : layers) {
    one.points = {layer.point};
    const Forecast forecast = forecasts(one).front();
    advice.dense_seconds += static_cast<double>(layer.weights) * forecast.dense.seconds();
    advice.dsop_seconds +=
        static_cast<double>(layer.weights) * std::min(forecast.chosen.seconds(), forecast.dense.seconds());
    advice.forecasts.push_back(forecast);
  }
  return advice;
}

std::string in_ms(double seconds) {
  std::ostringstream text;
  text << std::setprecision(seconds < 0.1 ? 3 : 4) << seconds * 1e3 << " ms";
  return text.str();
}

/// A step with its sums done by dsop: what the sums save comes off it, where no sum hides behind arithmetic.
std::string verdict(const Advice& advice, double step_seconds) {
  const std::string sums = "sums take " + in_ms(advice.dsop_seconds) + " instead of " + in_ms(advice.dense_seconds);
  if (step_seconds == 0) {
    if (advice.gain() < least_gain) return "no gain: " + sums;
    return "it helps: " + sums + ", " + with_two_decimals(advice.gain()) + "x; --step-ms MS tells what a step gains";
  }
  if (advice.dense_seconds > step_seconds)
    return "unclear: dense sums alone are predicted to take " + in_ms(advice.dense_seconds) +
           ", more than the step's " + in_ms(step_seconds) +
           ": the network is faster than was said, or sums hide behind arithmetic; " + sums;
  const double new_step = step_seconds - advice.dense_seconds + advice.dsop_seconds;
  const std::string steps = "a step of " + in_ms(step_seconds) + " would take " + in_ms(new_step) + ", " +
                            with_two_decimals(step_seconds / new_step) + "x; " + sums;
  return (step_seconds / new_step < least_gain ? "no gain: " : "it helps: ") + steps;
}

std::string where_it_stops(const Advice& advice) {
  std::size_t least = most_pairs;
  std::string which;
  for (std::size_t i = 0; i < advice.layers.size(); ++i)
    if (const auto pairs = advice.forecasts[i].factors_pay_to_pairs;
        pairs && *pairs / advice.layers[i].pairs_a_sample < least) {
      least = *pairs / advice.layers[i].pairs_a_sample;
      which = advice.layers[i].name;
    }
  if (which.empty()) return "factors pay with any batch that was tried";
  return least == 0 ? "factors never pay for " + which
                    : "factors pay up to a batch of " + std::to_string(least) + " a rank; " + which +
                          " is the first that then sends its gradient";
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
      << where_it_stops(advice) << "\n"
      << "try: dsop.torch.attach(model) in PyTorch, dsop::Synchronizer in C++; --wire bf16; `mpirun -n "
      << line.plan.ranks.front() << " dsop-bench calibrate`, then --machine machine.json\n"
      << "# dsop-bench " << version << " advise, " << name(line.plan.type) << ", " << line.plan.ranks.front()
      << " ranks, " << line.batch
      << " samples a rank; predicted for: " << printable(advice.forecasts.front().plan.machine.source)
      << "\n# layer                  rows     cols  pairs  weights  auto takes                                  ms  "
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
  out << std::flush;
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
                                {"step_seconds", nullptr},
                                {"machine", forecast.plan.machine.source},
                                {"host", host_facts()}};
    if (forecast.factors_pay_to_pairs) json["pays_to_batch"] = *forecast.factors_pay_to_pairs / layer.pairs_a_sample;
    if (line.step_ms > 0) json["step_seconds"] = line.step_ms / 1e3 - advice.dense_seconds + advice.dsop_seconds;
    out << json_text(json) << '\n';
  }
}

void advise(const Line& line) {
  RowsFile file(line.out);
  const Advice advice = advice_of(layers_of(line), line.plan);
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
      line.plan.machine = dsop::machine(transport);
      line.plan.ranks = {static_cast<std::size_t>(transport.size())};
      if (transport.rank() == 0) advise(line);
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
  command->add_option("--model", line->model, "Widths of fully connected layers, as 1024-2048-2048-100");
  command->add_option("--lstm", line->lstm, "Inputs and hidden widths of an LSTM's layers, as 512-1024-1024");
  command->add_option("--time-steps", line->time_steps, "Of the LSTM: a sample is so many pairs")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--batch", line->batch, "Samples of a rank")->required()->check(CLI::Range(1, 1 << 20));
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
      ->capture_default_str();
  command->add_option("--step-ms", line->step_ms, "What a training step takes now, with dense sums, in ms")
      ->check(CLI::PositiveNumber);
  add_dtype(command, line->plan.type);
  launch::add_choice(command, "--wire", line->plan.wire, Wire::bf16, "full, or bf16: parts of G travel in 16 bits");
  command->add_option("--out", line->out, "Append one JSON object a layer to this file");
  command->callback([line, &status] { status = run(*line); });
}

}  // namespace dsop::bench
