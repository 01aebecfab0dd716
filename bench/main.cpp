// dsop-bench: the command line.
#include <CLI/CLI.hpp>

#include <fstream>
#include <functional>
#include <iostream>
#include <new>
#include <optional>

#include <dsop/dsop.hpp>

#include "advise.hpp"
#include "benchmark_commands.hpp"
#include "calibrate.hpp"
#include "compare/openmpi.hpp"
#include "host.hpp"
#include "info.hpp"
#include "launch/command_line.hpp"
#include "launch/file_size_signal.hpp"
#include "launch/launch.hpp"
#include "launch/settings.hpp"
#include "lists.hpp"
#include "loop_benchmarks.hpp"
#include "machine_out.hpp"
#include "named_machine.hpp"
#include "plan_command.hpp"
#include "program_version.hpp"
#include "tune.hpp"

namespace {

using dsop::Transport;
namespace bench = dsop::bench;

struct CommandLine {
  dsop::launch::RankOptions ranks;
  std::string machine;
  bool markdown = false;
  std::string calibrate_out = "machine.json";
  std::string tune_out = "tuned.json";
  bench::OuterProductCommand outer_product;
  bench::SparseBenchOptions sparse_allreduce;
  bench::CollectiveBenchOptions collective;
  bool is_collective = false;
};

constexpr int default_ranks = 4;

std::optional<dsop::Machine> given_machine(Transport& transport, const CommandLine& line) {
  std::optional<dsop::Machine> machine;
  dsop::launch::on_all_ranks(transport, [&] {
    if (!line.machine.empty()) machine = bench::named_machine(line.machine);
  });
  return machine;
}

/// Without one, the communicator's own, by which named algorithms choose their numbers and are predicted too then.
dsop::Machine planned_machine(Transport& transport, const CommandLine& line) {
  const std::optional<dsop::Machine> given = given_machine(transport, line);
  return given ? *given : dsop::machine(transport);
}

/// The same; where one is given that describes other ranks than these, stderr says so.
dsop::Machine benchmark_machine(Transport& transport, const CommandLine& line) {
  const dsop::Machine machine = planned_machine(transport, line);
  if (!line.machine.empty()) bench::warn_if_not_valid(transport, machine);
  return machine;
}

template <class Options>
void run_with_machine(Transport& transport, const CommandLine& line, Options options,
                      void (*benchmark)(Transport&, const Options&)) {
  options.machine = benchmark_machine(transport, line);
  benchmark(transport, options);
}

void run_tune(Transport& transport, const CommandLine& line, const bench::OuterProductOptions& options) {
  const std::optional<dsop::Machine> given = given_machine(transport, line);
  if (given) bench::warn_if_not_valid(transport, *given);
  bench::tune(transport, {options.points, options.type, options.protocol, given, line.tune_out});
}

void run_calibrate(Transport& transport, const CommandLine& line) {
  dsop::launch::on_all_ranks(transport, [&] {
    if (transport.rank() == 0) bench::check_machine_out(line.calibrate_out);
  });
  const dsop::Machine machine = bench::calibrate(transport);
  dsop::launch::on_all_ranks(transport, [&] {
    if (transport.rank() != 0) return;
    bench::write_machine_out(machine, line.calibrate_out);
    std::cout << std::ifstream(line.calibrate_out).rdbuf();
    std::cerr << "written to " << line.calibrate_out << '\n';
    if (const std::string warning = dsop::why_not_valid(machine, 0, {}); !warning.empty())
      std::cerr << "warning: " << warning << '\n';
  });
}

}  // namespace

int main(int argc, char** argv) {
  dsop::launch::ignore_file_size_signal();
  dsop::launch::keep_standard_descriptors();
  int status = 0;
  CommandLine line;
  CLI::App app{
      "Measures dsop on this machine. Under mpirun the ranks are MPI's, otherwise threads of this process.\n"
      "Tables go to stdout, words to stderr. See also the environment variable DSOP_ALGORITHM.",
      "dsop-bench"};
  app.set_version_flag("--version", bench::version);
  app.require_subcommand(0, 1);  // none at all is refused below: then a misspelt one is named
  const auto add_ranks = [&](CLI::App* command) { dsop::launch::add_ranks(command, line.ranks); };
  const auto add_machine = [&](CLI::App* command) {
    command->add_option("--machine", line.machine,
                        "Machine to plan for: a file that calibrate has written, or " + bench::names_of_machines() +
                            "; without it, over MPI, it is measured");
  };

  CLI::App* list = app.add_subcommand("list", "The algorithms: family, name, what it does, source");
  list->add_flag("--markdown", line.markdown, "As a table for a README");

  CLI::App* info = app.add_subcommand("info", "Versions, libraries, threads, and what auto would choose");
  add_ranks(info);
  add_machine(info);

  bench::add_plan(app, status);
  bench::add_advise(app, status);
  bench::add_kernel(app, status);
  bench::add_select(app, status);

  CLI::App* calibrate = app.add_subcommand("calibrate", "Measure the machine description that auto plans for");
  add_ranks(calibrate);
  calibrate->add_option("--out", line.calibrate_out, "File to write")->capture_default_str();

  CLI::App* tune = app.add_subcommand("tune", "Measure which algorithms are the fastest, for auto to take");
  add_ranks(tune);
  tune->add_option("--machine", line.machine, "Machine description to start from; without it, calibrates first");
  line.outer_product.add_shapes_to(tune);
  tune->add_option("--out", line.tune_out, "File to write: the machine description and the winners")
      ->capture_default_str();

  CLI::App* outer_product = app.add_subcommand("outer-product", "Every algorithm on the same factors, in one run");
  add_ranks(outer_product);
  add_machine(outer_product);
  line.outer_product.add_to(outer_product);

  CLI::App* sparse_allreduce =
      app.add_subcommand("sparse-allreduce", "Every sparse allreduce on the same vectors, in one run");
  add_ranks(sparse_allreduce);
  add_machine(sparse_allreduce);
  bench::add_sparse_allreduce(sparse_allreduce, line.sparse_allreduce);
  bench::add_collectives(app, line.collective, line.is_collective, [&](CLI::App* command) {
    add_ranks(command);
    add_machine(command);
  });

  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A subcommand");
    const dsop::launch::Settings settings = dsop::launch::settings_of(*app.get_subcommands().front());
    const auto ranks = [&](const std::function<void(Transport&)>& body,
                           dsop::launch::ThreadLevel level = dsop::launch::ThreadLevel::funneled) {
      const auto checked_body = [&](Transport& transport) {
        // Simulated ranks are started by one command line, and what they say to each other takes simulated time.
        if (!bench::is_simulated()) dsop::launch::expect_same_settings(transport, settings);
        body(transport);
      };
      return dsop::launch::run(line.ranks, default_ranks, checked_body, level);
    };
    if (list->parsed() && dsop::launch::is_reporting_process()) bench::print_list(line.markdown);
    if (info->parsed()) status = ranks([&](Transport& t) { bench::print_info(t, planned_machine(t, line)); });
    if (calibrate->parsed()) status = ranks([&](Transport& t) { run_calibrate(t, line); });
    if (tune->parsed()) {
      const bench::OuterProductOptions shapes = line.outer_product.options();
      status = ranks([&](Transport& t) { run_tune(t, line, shapes); });
    }
    if (outer_product->parsed()) {
      const bench::OuterProductOptions options = line.outer_product.options();
      const bool overlap = line.outer_product.overlap;
      bench::compare::let_openmpi_be_forced();
      const auto benchmark = overlap ? bench::benchmark_overlap : bench::benchmark_outer_product;
      status = ranks([&](Transport& t) { run_with_machine(t, line, options, benchmark); },
                     overlap ? dsop::launch::ThreadLevel::multiple : dsop::launch::ThreadLevel::funneled);
    }
    if (sparse_allreduce->parsed())
      status = ranks(
          [&](Transport& t) { run_with_machine(t, line, line.sparse_allreduce, bench::benchmark_sparse_allreduce); });
    if (line.is_collective)
      status = ranks([&](Transport& t) { run_with_machine(t, line, line.collective, bench::benchmark_collective); });
  } catch (const CLI::ParseError& error) {
    return dsop::launch::end_of(app, error);
  } catch (const std::bad_alloc&) {
    return dsop::launch::refuse_to_run("out of memory");
  } catch (const std::exception& error) {
    return dsop::launch::refuse_to_run(error.what());
  }
  return dsop::launch::status_with_output(status);
}
