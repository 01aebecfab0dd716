#include "plan_command.hpp"

#include <iostream>
#include <memory>

#include "command_options.hpp"
#include "launch/command_line.hpp"
#include "launch/launch.hpp"
#include "named_machine.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "plan_map.hpp"
#include "plan_table.hpp"

namespace dsop::bench {
namespace {

struct Line {
  PlanOptions options;
  ShapeLists shapes;
  std::string rates;
  std::string machine;
  bool map = false;
  std::string out;
};

void run(Line& line) {
  PlanOptions& options = line.options;
  options.points = line.shapes.points();
  if (!line.rates.empty()) options.rates = parse_rates("--rate", line.rates);
  if (!line.machine.empty()) options.machine = named_machine(line.machine);
  RowsFile file(line.out);
  const std::vector<Forecast> all = forecasts(options);
  print_plan_head(std::cout, options);
  line.map ? print_maps(std::cout, all) : print_plan_table(std::cout, all);
  file.append([&](std::ostream& out) { write_plan_lines(out, all); });
}

}  // namespace

void add_plan(CLI::App& app, int& status) {
  const auto line = std::make_shared<Line>();
  CLI::App* const plan = app.add_subcommand("plan", "What auto would do and gain, for ranks and a machine not there");
  line->shapes.add_to(plan);
  add_numbers(plan, "--ranks", "8", line->options.ranks, "Ranks P: a list");
  plan->add_option("--ranks-per-node", line->options.ranks_per_node, "Ranks that fill a node before the next")
      ->check(CLI::Range(std::size_t{1}, most_planned_ranks))
      ->capture_default_str();
  plan->add_option("--machine", line->machine,
                   "Machine to plan for: a file that calibrate has written, or " + names_of_machines());
  plan->add_option("--rate", line->rates, "Rates of its network instead of its own: a list, as 200mbit,1gbit");
  add_dtype(plan, line->options.type);
  launch::add_choice(plan, "--wire", line->options.wire, Wire::bf16, "full, or bf16: parts of G travel in 16 bits");
  plan->add_flag("--map", line->map, "Who wins where: over n and pairs, or with several rates over ranks and rate");
  plan->add_option("--out", line->out, "Append one JSON object a row to this file");
  plan->callback([line, &status] { status = launch::run_alone([&] { run(*line); }); });
}

}  // namespace dsop::bench
