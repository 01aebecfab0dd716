#include <algorithm>
#include <memory>

#include <dsop/errors.hpp>

#include "command_options.hpp"
#include "launch/launch.hpp"
#include "loop_benchmarks.hpp"
#include "types.hpp"

namespace dsop::bench {
namespace {

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
  const auto options = std::make_shared<KernelOptions>();
  const auto sums = std::make_shared<SumOptions>();
  CLI::App* const kernel = app.add_subcommand("kernel", "The local product beside OpenBLAS's and beside writing alone");
  const auto shape = {
      kernel->add_option("--rows", options->rows, "Rows of C")->capture_default_str(),
      kernel->add_option("--cols", options->columns, "Columns of C")->capture_default_str(),
      add_numbers(kernel, "--inner", "1,2,4,8,16,32,64,128,256,512", options->inner, "Inner dimensions K")};
  CLI::Option* const sums_option =
      kernel->add_option("--sums", sums->size, "Instead: sums of two vectors of so many elements, sparse beside dense")
          ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 32));
  for (CLI::Option* const option : shape) sums_option->excludes(option);
  add_loop_options(kernel, *options);
  kernel->callback([options, sums, &status] {
    static_cast<LoopOptions&>(*sums) = *options;
    status = launch::run_alone([&] { sums->size > 0 ? sum_benchmark(*sums) : kernel_benchmark(*options); });
  });
}

void add_select(CLI::App& app, int& status) {
  const auto options = std::make_shared<SelectOptions>();
  options->dtype = "f32";
  CLI::App* const select =
      app.add_subcommand("select", "Selections of k elements beside nth_element and reading alone");
  add_numbers(select, "--size", "16777216", options->sizes, "Elements N: a list, or first:last:step");
  add_parsed(select, "--density", "0.001,0.01,0.1", "Shares k / N: a list", [options](const std::string& text) {
    options->densities = parse_shares("--density", text);
    if (std::ranges::find(options->densities, 0.0) != options->densities.end())
      throw Error("--density is \"" + text + "\", expected shares above 0");
  });
  add_names(select, "all", options->algorithms, "all, or a list of names");
  add_loop_options(select, *options);
  select->callback([options, &status] { status = launch::run_alone([&] { select_benchmark(*options); }); });
}

}  // namespace dsop::bench
