// The command line of `dsop-bench kernel`.
#pragma once

#include <CLI/CLI.hpp>

namespace dsop::bench {

/// Adds the subcommand to `app`, which runs it when it has parsed its options.
void add_kernel(CLI::App& app);

}  // namespace dsop::bench
