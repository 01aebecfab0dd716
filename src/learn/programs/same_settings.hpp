// What ranks that are launched each with its own command line must have in common.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

#include <dsop/transport.hpp>

namespace dsop::learn {

/// Names and values.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// The command and the values of its options, given or by default, of which the calls of all ranks depend. Of files
/// only whether they are given: their names may be other ones on other hosts.
Settings settings_of(const CLI::App& command);

/// Throws ArgumentError on every rank, naming ranks and setting, unless all have the same. All ranks call it, at the
/// start: with other settings they would make calls that do not fit together. Costs an allgather of 8 bytes.
void expect_same_settings(Transport& transport, const Settings& own);

}  // namespace dsop::learn
