#pragma once

#include <CLI/CLI.hpp>

namespace dsop::learn {

/// Adds the command `mlp`, which sets `status` to the program's exit status.
void add_mlp(CLI::App& app, int& status);

}  // namespace dsop::learn
