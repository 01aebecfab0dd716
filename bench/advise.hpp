// dsop-bench advise: whether dsop helps a model, on ranks and a network that need not be there.
#pragma once

#include <CLI/CLI.hpp>

namespace dsop::bench {

/// Adds the command; `status` becomes the program's exit status where it ran.
void add_advise(CLI::App& app, int& status);

}  // namespace dsop::bench
