// What --machine names.
#pragma once

#include <string>

#include <dsop/machine.hpp>

namespace dsop::bench {

/// A machine that comes with dsop, or that of a file. Throws Error naming what can't be read.
Machine named_machine(const std::string& name_or_file);

/// "ethernet, euler3 or fat-tree"
std::string names_of_machines();

}  // namespace dsop::bench
