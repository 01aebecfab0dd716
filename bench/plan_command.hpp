// The command line of `dsop-bench plan`.
#pragma once

#include <CLI/CLI.hpp>

namespace dsop::bench {

/// Adds the subcommand to `app`, which runs it when it has parsed its options and sets the exit status. Under mpirun
/// the rank that speaks plans, alone.
void add_plan(CLI::App& app, int& status);

}  // namespace dsop::bench
