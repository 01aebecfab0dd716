// A machine as the text of its file.
#pragma once

#include <string>

#include <dsop/machine.hpp>

namespace dsop {

std::string machine_text(const Machine& machine);
/// Throws Error that begins with `what`, as read_machine() does.
Machine machine_of_text(const std::string& text, const std::string& what);

}  // namespace dsop
