// A command line as text: what ranks that are launched each with its own must have in common, and what a checkpoint
// keeps of it.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

#include <dsop/transport.hpp>

namespace dsop::launch {

/// Names and values.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// The command and the values of its options, given or by default. Of files and flags only whether they are given:
/// files may have other names on other hosts. Of a machine, by which `auto` chooses, the file's hash.
Settings settings_of(const CLI::App& command);

/// Throws ArgumentError on every rank, naming ranks and setting, unless all have the same, but for those that are a
/// rank's own. All ranks call it, at the start: with other settings they would make calls that do not fit together.
/// Costs an allgather of 8 bytes.
void expect_same_settings(Transport& transport, const Settings& own);

/// The same for any text of "NAME is VALUE" lines.
void expect_same_lines(Transport& transport, const std::string& own);

/// "NAME VALUE" on each line, for RunIdentity: without what only says where a run begins and ends, where it writes and
/// what it measures beside.
std::string options_for_checkpoint(const Settings& settings);

}  // namespace dsop::launch
