// dsop-bench: the command line.
#include <CLI/CLI.hpp>

#include <fstream>
#include <functional>
#include <iostream>
#include <new>
#include <optional>

#include <dsop/errors.hpp>

#include "calibrate.hpp"
#include "collectives_command.hpp"
#include "command_options.hpp"
#include "compare/openmpi.hpp"
#include "info.hpp"
#include "kernel.hpp"
#include "launch/launch.hpp"
#include "lists.hpp"
#include "outer_product.hpp"
#include "overlap.hpp"
#include "select_command.hpp"
#include "sparse_allreduce_command.hpp"
#include "sums.hpp"
#include "tune.hpp"
#include "version.hpp"

namespace {

using dsop::Transport;
namespace bench = dsop::bench;

struct CommandLine {
  std::optional<int> ranks;
  std::string machine;
  bool markdown = false;
  bool overlap = false;
  std::string calibrate_out = "machine.json";
  std::string tune_out = "tuned.json";
  std::string rows = "1000,2000,4000";
  std::string columns = "same";
  std::string pairs = "1";
  std::string algorithms = "all,auto";
  std::string type = "f32";
  std::string density = "1";
  std::string encoding;
  std::string wire = "full";
  bench::OuterProductOptions outer_product;
  bench::SparseAllreduceCommand sparse_allreduce;
  bench::CollectivesCommand collectives;
  bench::KernelOptions kernel;
  std::string inner = "1,2,4,8,16,32,64,128,256,512";
  std::string kernel_out;
  std::size_t sums = 0;
};

constexpr int default_ranks = 4;

std::optional<dsop::Machine> described_machine(Transport& transport, const CommandLine& line) {
  std::optional<dsop::Machine> machine;
  dsop::launch::on_all_ranks(transport, [&] {
    if (!line.machine.empty()) machine = dsop::read_machine(line.machine);
  });
  return machine;
}

// Before the ranks are there, so that a mistake is told once.
void read_lists(CommandLine& line) {
  bench::OuterProductOptions& options = line.outer_product;
  options.rows = bench::parse_numbers("--rows", line.rows);
  if (line.columns != "same") options.columns = bench::parse_numbers("--cols", line.columns);
  options.pairs = bench::parse_numbers("--pairs", line.pairs);
  options.algorithms = bench::split(line.algorithms, ',');
  options.densities = bench::parse_densities(line.density);
  options.encodings = bench::parse_encodings(line.encoding, options.densities);
  options.type = line.type == "f64" ? dsop::DataType::f64 : dsop::DataType::f32;
  options.wire = line.wire == "bf16" ? dsop::Wire::bf16 : dsop::Wire::full;
  if (options.wire == dsop::Wire::bf16 && options.verify)
    throw dsop::ArgumentError("--verify compares with ==, expected --wire full");
}

void run_outer_product(Transport& transport, const CommandLine& line) {
  bench::OuterProductOptions options = line.outer_product;
  options.machine = described_machine(transport, line);
  line.overlap ? bench::benchmark_overlap(transport, options) : bench::benchmark_outer_product(transport, options);
}

void run_sparse_allreduce(Transport& transport, const CommandLine& line, bench::SparseBenchOptions options) {
  options.machine = described_machine(transport, line);
  options.selection.empty() ? bench::benchmark_sparse_allreduce(transport, options)
                            : bench::benchmark_topk_allreduce(transport, options);
}

void run_tune(Transport& transport, const CommandLine& line) {
  const bench::OuterProductOptions& options = line.outer_product;
  bench::tune(transport, {bench::points(options), options.type, options.protocol, described_machine(transport, line),
                          line.tune_out});
}

void run_kernel(CommandLine& line) {
  line.kernel.inner = bench::parse_numbers("--inner", line.inner);
  std::ofstream out;
  if (!line.kernel_out.empty()) {
    out.open(line.kernel_out, std::ios::app);
    if (!out) throw dsop::Error("--out " + line.kernel_out + ": can't be opened for writing");
  }
  std::ostream* const json_lines = out.is_open() ? &out : nullptr;
  if (line.sums > 0)
    return bench::sum_benchmark({line.sums, line.kernel.dtype, line.kernel.iterations}, std::cout, json_lines);
  bench::kernel_benchmark(line.kernel, std::cout, json_lines);
}

void run_calibrate(Transport& transport, const CommandLine& line) {
  const dsop::Machine machine = bench::calibrate(transport);
  dsop::launch::on_all_ranks(transport, [&] {
    if (transport.rank() != 0) return;
    dsop::write_machine(machine, line.calibrate_out);
    std::cout << std::ifstream(line.calibrate_out).rdbuf();
    std::cerr << "written to " << line.calibrate_out << '\n';
  });
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine line;
  CLI::App app{
      "Measures dsop on this machine. Under mpirun the ranks are MPI's, otherwise threads of this process.\n"
      "Tables go to stdout, words to stderr. See also the environment variable DSOP_ALGORITHM.",
      "dsop-bench"};
  app.set_version_flag("--version", bench::version);
  app.require_subcommand(0, 1);  // none at all is refused below: then a misspelt one is named
  const auto add_ranks = [&](CLI::App* command) {
    command->add_option("--ranks", line.ranks, "Ranks as threads (default 4); under mpirun, MPI's own number")
        ->check(CLI::Range(1, 1024));
  };
  const auto add_machine = [&](CLI::App* command) {
    command->add_option("--machine", line.machine, "Machine description to plan for, as calibrate writes it");
  };
  bench::OuterProductOptions& options = line.outer_product;
  const auto add_shapes = [&](CLI::App* command) {
    command->add_option("--rows", line.rows, "Rows n: a list, or first:last:step")->capture_default_str();
    command->add_option("--cols", line.columns, "Columns m: same, or a list")->capture_default_str();
    command->add_option("--pairs", line.pairs, "Pairs a rank: a list")->capture_default_str();
    bench::add_type(command, line.type, options.protocol);
  };

  CLI::App* list = app.add_subcommand("list", "The algorithms: family, name, what it does, source");
  list->add_flag("--markdown", line.markdown, "As a table for a README");

  CLI::App* info = app.add_subcommand("info", "Versions, libraries, threads, and what auto would choose");
  add_ranks(info);
  add_machine(info);

  CLI::App* kernel = app.add_subcommand("kernel", "The local product beside OpenBLAS's and beside writing alone");
  kernel->add_option("--rows", line.kernel.rows, "Rows of C")->capture_default_str();
  kernel->add_option("--cols", line.kernel.columns, "Columns of C")->capture_default_str();
  kernel->add_option("--inner", line.inner, "Inner dimensions K")->capture_default_str();
  kernel->add_option("--dtype", line.kernel.dtype, "f32, f64 or both")
      ->check(CLI::IsMember({"f32", "f64", "both"}))
      ->capture_default_str();
  kernel->add_option("--iterations", line.kernel.iterations, "Samples of each")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  kernel->add_option("--sums", line.sums, "Instead: sums of two vectors of so many elements, sparse beside dense")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 32));
  kernel->add_option("--out", line.kernel_out, "Append JSON lines to this file");

  bench::add_select(app);

  CLI::App* calibrate = app.add_subcommand("calibrate", "Measure the machine description that auto plans for");
  add_ranks(calibrate);
  calibrate->add_option("--out", line.calibrate_out, "File to write")->capture_default_str();

  CLI::App* tune = app.add_subcommand("tune", "Measure which algorithms are the fastest, for auto to take");
  add_ranks(tune);
  tune->add_option("--machine", line.machine, "Machine description to start from; without it, calibrates first");
  add_shapes(tune);
  tune->add_option("--out", line.tune_out, "File to write: the machine description and the winners")
      ->capture_default_str();

  CLI::App* outer_product = app.add_subcommand("outer-product", "Every algorithm on the same factors, in one run");
  add_ranks(outer_product);
  add_machine(outer_product);
  add_shapes(outer_product);
  outer_product
      ->add_option("--algorithm", line.algorithms,
                   "all, near (within 2.5 times the least predicted time), auto, sharded, external, or a list of names")
      ->capture_default_str();
  outer_product
      ->add_option("--density", line.density, "Share of the factors' elements that are not zero: a and b, or A,B")
      ->capture_default_str();
  outer_product->add_option("--encoding", line.encoding,
                            "How factors are handed over, some of dense, find-zeros, sparse; default dense, and sparse "
                            "too where --density is below 1");
  outer_product->add_option("--wire", line.wire, "full, or bf16: parts of G travel in 16 bits")
      ->check(CLI::IsMember({"full", "bf16"}))
      ->capture_default_str();
  bench::add_protocol(outer_product, options.protocol, options.verify, options.out);
  CLI::Option* const overlap = outer_product->add_flag(
      "--overlap", line.overlap, "Measure the share of a started call that is hidden behind arithmetic");
  for (const char* const other :
       {"--density", "--encoding", "--repetitions", "--first-repetition", "--precision", "--verify", "--wire"})
    overlap->excludes(outer_product->get_option(other));

  CLI::App* sparse_allreduce =
      app.add_subcommand("sparse-allreduce", "Every sparse allreduce on the same vectors, in one run");
  add_ranks(sparse_allreduce);
  add_machine(sparse_allreduce);
  line.sparse_allreduce.add_to(sparse_allreduce);
  line.collectives.add_to(app, [&](CLI::App* command) {
    add_ranks(command);
    add_machine(command);
  });

  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A subcommand");
    const auto ranks = [&](const std::function<void(Transport&)>& body) {
      return dsop::launch::run(line.ranks, default_ranks, body);
    };
    int status = 0;
    if (list->parsed() && dsop::launch::speaks()) bench::print_list(line.markdown);
    if (info->parsed()) status = ranks([&](Transport& t) { bench::print_info(t, described_machine(t, line)); });
    if (kernel->parsed()) run_kernel(line);
    if (calibrate->parsed()) status = ranks([&](Transport& t) { run_calibrate(t, line); });
    if (tune->parsed()) {
      read_lists(line);
      status = ranks([&](Transport& t) { run_tune(t, line); });
    }
    if (outer_product->parsed()) {
      read_lists(line);
      bench::compare::let_openmpi_be_forced();
      status = dsop::launch::run(
          line.ranks, default_ranks, [&](Transport& t) { run_outer_product(t, line); },
          line.overlap ? dsop::launch::ThreadLevel::multiple : dsop::launch::ThreadLevel::funneled);
    }
    if (sparse_allreduce->parsed()) {
      const bench::SparseBenchOptions sparse = line.sparse_allreduce.options();  // a mistake is told once
      status = ranks([&](Transport& t) { run_sparse_allreduce(t, line, sparse); });
    }
    if (line.collectives.parsed()) {
      const bench::CollectiveBenchOptions collective = line.collectives.options();
      status = ranks([&](Transport& t) { bench::benchmark_collective(t, collective, described_machine(t, line)); });
    }
    if (!std::cout.flush()) throw dsop::Error("standard output can't be written");
    return status;
  } catch (const CLI::ParseError& error) {
    if (!dsop::launch::speaks()) return error.get_exit_code();
    return app.exit(error);
  } catch (const std::bad_alloc&) {
    if (dsop::launch::speaks()) std::cerr << "error: out of memory\n";
  } catch (const std::exception& error) {
    if (dsop::launch::speaks()) std::cerr << "error: " << error.what() << '\n';
  }
  return 1;
}
