// The machine file that calibrate and tune write.
#pragma once

#include <string>

#include <dsop/machine.hpp>

namespace dsop::bench {

/// Throws Error naming --out where the file can't be written, as far as that is known before it is: its folder is not
/// there, or may not be written to. Leaves nothing behind.
void check_machine_out(const std::string& path);

/// write_machine() whose errors name --out.
void write_machine_out(const Machine& machine, const std::string& path);

}  // namespace dsop::bench
