// What --machine names.
#pragma once

#include <string>

#include <dsop/machine.hpp>
#include <dsop/transport.hpp>

namespace dsop::bench {

/// A machine that comes with dsop, or that of a file. Throws Error naming what can't be read.
Machine named_machine(const std::string& name_or_file);

/// One line on stderr, as rank 0, if the machine describes other ranks, nodes or threads than these. All ranks must
/// call it.
void warn_if_not_valid(Transport& transport, const Machine& machine);

/// "ethernet, euler3 or fat-tree"
std::string names_of_machines();

}  // namespace dsop::bench
