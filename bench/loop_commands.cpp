#include "loop_commands.hpp"

#include <memory>

#include <dsop/errors.hpp>

#include "launch/launch.hpp"
#include "lists.hpp"
#include "loop_benchmarks.hpp"
#include "types.hpp"

namespace dsop::bench {
namespace {

struct KernelLine {
  KernelOptions options;
  std::string inner = "1,2,4,8,16,32,64,128,256,512";
  std::size_t sums = 0;
};

void run(KernelLine& line) {
  line.options.inner = parse_numbers("--inner", line.inner);
  line.sums > 0 ? sum_benchmark({static_cast<const LoopOptions&>(line.options), line.sums})
                : kernel_benchmark(line.options);
}

struct SelectLine {
  SelectOptions options;
  std::string sizes = "16777216";
  std::string densities = "0.001,0.01,0.1";
  std::string algorithms = "all";
};

void run(SelectLine& line) {
  line.options.sizes = parse_numbers("--size", line.sizes);
  line.options.densities = parse_shares("--density", line.densities);
  for (const double density : line.options.densities)
    if (density == 0) throw Error("--density is \"" + line.densities + "\", expected shares above 0");
  line.options.algorithms = split_names(line.algorithms);
  select_benchmark(line.options);
}

void add_loop_options(CLI::App* command, LoopOptions& options) {
  command->add_option("--dtype", options.dtype, one_of(names_of_types()))
      ->check(CLI::IsMember(names_of_types()))
      ->capture_default_str();
  command->add_option("--iterations", options.iterations, "Samples of each")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--out", options.out, "Append one JSON object a row to this file");
}

}  // namespace

void add_kernel(CLI::App& app, int& status) {
  const auto line = std::make_shared<KernelLine>();
  CLI::App* const kernel = app.add_subcommand("kernel", "The local product beside OpenBLAS's and beside writing alone");
  CLI::Option* const rows = kernel->add_option("--rows", line->options.rows, "Rows of C")->capture_default_str();
  CLI::Option* const columns =
      kernel->add_option("--cols", line->options.columns, "Columns of C")->capture_default_str();
  CLI::Option* const inner = kernel->add_option("--inner", line->inner, "Inner dimensions K")->capture_default_str();
  kernel->add_option("--sums", line->sums, "Instead: sums of two vectors of so many elements, sparse beside dense")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 32))
      ->excludes(rows)
      ->excludes(columns)
      ->excludes(inner);
  add_loop_options(kernel, line->options);
  kernel->callback([line, &status] { status = launch::run_alone([&] { run(*line); }); });
}

void add_select(CLI::App& app, int& status) {
  const auto line = std::make_shared<SelectLine>();
  line->options.dtype = "f32";
  CLI::App* const select =
      app.add_subcommand("select", "Selections of k elements beside nth_element and reading alone");
  select->add_option("--size", line->sizes, "Elements N: a list, or first:last:step")->capture_default_str();
  select->add_option("--density", line->densities, "Shares k / N: a list")->capture_default_str();
  select->add_option("--algorithm", line->algorithms, "all, or a list of names")->capture_default_str();
  add_loop_options(select, line->options);
  select->callback([line, &status] { status = launch::run_alone([&] { run(*line); }); });
}

}  // namespace dsop::bench
