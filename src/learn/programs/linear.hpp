#pragma once

#include <CLI/CLI.hpp>

namespace dsop::learn {

/// The command `linear`, which sets `status` to the program's when it has run.
void add_linear(CLI::App& app, int& status);

}  // namespace dsop::learn
