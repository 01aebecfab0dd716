#pragma once

#include <CLI/CLI.hpp>

namespace dsop::learn {

/// Adds the command `lstm`, which sets `status` to the program's exit status.
void add_lstm(CLI::App& app, int& status);

}  // namespace dsop::learn
