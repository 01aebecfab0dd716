#include "kernel_command.hpp"

#include <fstream>
#include <iostream>
#include <memory>

#include <dsop/errors.hpp>

#include "kernel.hpp"
#include "launch/launch.hpp"
#include "lists.hpp"
#include "sums.hpp"
#include "types.hpp"

namespace dsop::bench {
namespace {

struct Line {
  KernelOptions options;
  std::string inner = "1,2,4,8,16,32,64,128,256,512";
  std::string out;
  std::size_t sums = 0;
};

void run(Line& line) {
  line.options.inner = parse_numbers("--inner", line.inner);
  std::ofstream out;
  if (!line.out.empty()) {
    out.open(line.out, std::ios::app);
    if (!out) throw Error("--out " + line.out + ": can't be opened for writing");
  }
  std::ostream* const json_lines = out.is_open() ? &out : nullptr;
  if (line.sums > 0)
    sum_benchmark({line.sums, line.options.dtype, line.options.iterations}, std::cout, json_lines);
  else
    kernel_benchmark(line.options, std::cout, json_lines);
  if (out.is_open() && !out.flush()) throw Error("--out " + line.out + ": can't be written");
}

}  // namespace

void add_kernel(CLI::App& app, int& status) {
  const auto line = std::make_shared<Line>();
  CLI::App* const kernel = app.add_subcommand("kernel", "The local product beside OpenBLAS's and beside writing alone");
  CLI::Option* const rows = kernel->add_option("--rows", line->options.rows, "Rows of C")->capture_default_str();
  CLI::Option* const columns =
      kernel->add_option("--cols", line->options.columns, "Columns of C")->capture_default_str();
  CLI::Option* const inner = kernel->add_option("--inner", line->inner, "Inner dimensions K")->capture_default_str();
  kernel->add_option("--dtype", line->options.dtype, one_of(names_of_types()))
      ->check(CLI::IsMember(names_of_types()))
      ->capture_default_str();
  kernel->add_option("--iterations", line->options.iterations, "Samples of each")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  kernel->add_option("--sums", line->sums, "Instead: sums of two vectors of so many elements, sparse beside dense")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 32))
      ->excludes(rows)
      ->excludes(columns)
      ->excludes(inner);
  kernel->add_option("--out", line->out, "Append JSON lines to this file");
  kernel->callback([line, &status] { status = launch::run_alone([&] { run(*line); }); });
}

}  // namespace dsop::bench
