// The command lines of `dsop-bench kernel` and `select`.
#pragma once

#include <CLI/CLI.hpp>

namespace dsop::bench {

/// Each adds its subcommand to `app`, which runs it when it has parsed its options and sets the exit status. Under
/// mpirun the rank that speaks measures, alone.
void add_kernel(CLI::App& app, int& status);
void add_select(CLI::App& app, int& status);

}  // namespace dsop::bench
