#include "tune.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>

#include "algorithms/outer_product/algorithm.hpp"
#include "calibrate.hpp"
#include "contenders.hpp"
#include "host.hpp"
#include "launch/launch.hpp"
#include "launch/progress_line.hpp"
#include "machine_out.hpp"
#include "outer_product.hpp"
#include "program_version.hpp"
#include "statistics.hpp"

namespace dsop::bench {
namespace {

constexpr double tune_factor = 3;

std::vector<EncodedAlgorithm> could_win(const Plan& plan) {
  std::vector<std::string> names = near_the_best(plan, tune_factor);
  for (const Candidate& candidate : plan.candidates) {
    const std::string name = without_parameter(candidate.algorithm);
    if (candidate.unsupported.empty() && outer_product_algorithms().find(name)->native() &&
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  std::erase_if(names, [](const std::string& name) { return outer_product_algorithms().find(name)->published; });
  std::vector<EncodedAlgorithm> asked;
  for (const std::string& name : names) asked.push_back({name});
  return asked;
}

void remember(Machine& machine, const OuterProductRow& row) {
  const Problem& problem = row.problem;
  const Winner winner{problem.rows, problem.columns, problem.largest_pairs(), problem.ranks(), problem.type, row.used};
  std::erase_if(machine.winners, [&](Winner old) {
    old.algorithm = winner.algorithm;
    return old == winner;
  });
  machine.winners.push_back(winner);
}

void print_head(const Transport& transport, DataType type) {
  std::cout
      << "# dsop-bench " << version << " tune, " << name(type) << ", " << ranks_and_cores(transport) << '\n'
      << "# winner: the least median over iterations of the slowest rank's time, of what is predicted to take up "
         "to "
      << tune_factor << " times the least, and of what runs inside the MPI library\n"
      << "# x ahead: how many times faster than what auto takes by prediction\n"
      << "#    rows     cols  pairs  ranks  winner                                 median(us)  predicted          "
         "                    median(us)  x ahead\n"
      << std::flush;
}

void print_row(const OuterProductRow& winner, const OuterProductRow& predicted) {
  const Problem& problem = winner.problem;
  std::cout << std::setw(9) << problem.rows << std::setw(9) << problem.columns << std::setw(7)
            << problem.largest_pairs() << std::setw(7) << problem.ranks() << std::fixed;
  for (const OuterProductRow* const row : {&winner, &predicted})
    std::cout << "  " << std::left << std::setw(36) << row->used << std::right << std::setprecision(1) << std::setw(13)
              << row->median_seconds() * 1e6;
  std::cout << std::setprecision(2) << std::setw(9) << predicted.median_seconds() / winner.median_seconds() << '\n'
            << std::flush;
}

}  // namespace

void tune(Transport& transport, const TuneOptions& options) {
  const bool speaks = transport.rank() == 0;
  launch::on_all_ranks(transport, [&] {
    if (speaks) check_machine_out(options.out);
  });
  launch::ProgressLine progress(speaks);
  if (!options.machine) progress.show("calibrating");
  Machine machine = options.machine ? *options.machine : calibrate(transport);
  machine.source += ", tuned";
  const auto write = [&] {
    if (speaks) write_machine_out(machine, options.out);
  };
  launch::on_all_ranks(transport, write);
  progress.clear();
  if (speaks) print_head(transport, options.type);

  BenchmarkOptions measured{.type = options.type, .machine = machine, .protocol = options.protocol};
  measured.machine->winners.clear();
  for (std::size_t p = 0; p < options.points.size(); ++p) {
    const Plan plan = predict(transport, options.points[p], options.type, Wire::full, measured.machine);
    Watch watch(transport);
    const Rows rows = outer_product_rows(watch, options.points[p], could_win(plan), measured);
    measure(watch, rows, {.turns = Method::Turns::of_fastest}, measured,
            [&](const std::string& what) { progress.show(text_of(options.points[p]) + ": " + what); });
    const auto of = [](const std::unique_ptr<Row>& row) -> const OuterProductRow& {
      return static_cast<const OuterProductRow&>(*row);
    };
    const OuterProductRow& winner =
        of(*std::ranges::min_element(rows, {}, [](const auto& row) { return row->median_seconds(); }));
    remember(machine, winner);
    launch::on_all_ranks(transport, write);
    progress.clear();
    if (speaks) print_row(winner, of(rows.front()));
  }
  if (speaks) std::cerr << "written to " << options.out << '\n';
}

}  // namespace dsop::bench
