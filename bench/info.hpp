// dsop-bench list and info: what there is, and where this runs.
#pragma once

#include <optional>

#include <dsop/machine.hpp>
#include <dsop/transport.hpp>

namespace dsop::bench {

/// The registries as a table, or as the rows of the README's.
void print_list(bool markdown);

/// Versions, libraries, threads, and what auto would choose for some problems on these ranks. Prints as rank 0. All
/// ranks must call it.
void print_info(Transport& transport, const std::optional<Machine>& machine);

}  // namespace dsop::bench
