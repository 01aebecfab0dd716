#include "select_command.hpp"

#include <iostream>
#include <memory>

#include <dsop/errors.hpp>

#include "base/shown.hpp"
#include "launch/launch.hpp"
#include "lists.hpp"
#include "select.hpp"
#include "types.hpp"

namespace dsop::bench {
namespace {

struct Line {
  SelectOptions options;
  std::string sizes = "16777216";
  std::string densities = "0.001,0.01,0.1";
  std::string algorithms = "all";
  std::string out;
};

void run(Line& line) {
  line.options.sizes = parse_numbers("--size", line.sizes);
  line.options.densities = parse_shares("--density", line.densities);
  for (const double density : line.options.densities)
    if (density == 0) throw Error("--density is \"" + shown(line.densities) + "\", expected shares above 0");
  line.options.algorithms = split_names(line.algorithms);
  RowsFile rows;
  rows.open(line.out);
  select_benchmark(line.options, std::cout, rows);
}

}  // namespace

void add_select(CLI::App& app, int& status) {
  const auto line = std::make_shared<Line>();
  CLI::App* const select =
      app.add_subcommand("select", "Selections of k elements beside nth_element and reading alone");
  select->add_option("--size", line->sizes, "Elements N: a list, or first:last:step")->capture_default_str();
  select->add_option("--density", line->densities, "Shares k / N: a list")->capture_default_str();
  select->add_option("--algorithm", line->algorithms, "all, or a list of names")->capture_default_str();
  select->add_option("--dtype", line->options.type, one_of(names_of_types()))
      ->check(CLI::IsMember(names_of_types()))
      ->capture_default_str();
  select->add_option("--iterations", line->options.iterations, "Samples of each")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  select->add_option("--out", line->out, "Append one JSON object a row to this file");
  select->callback([line, &status] { status = launch::run_alone([&] { run(*line); }); });
}

}  // namespace dsop::bench
