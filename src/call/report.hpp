// What DSOP_REPORT asks for: what calls on a communicator took, when it ends.
#pragma once

#include <string>

#include <dsop/transport.hpp>

#include "call/call_log.hpp"

namespace dsop {

/// A table of the log's rows, then how late ranks came. `failure` is empty, or why calls were refused in the end.
std::string report_of(const CallLog& log, const Transport& transport, const std::string& failure);

/// If this is rank 0, and DSOP_REPORT is 1 or a file's path: its report goes to stderr, or to the end of that file.
/// Sends nothing, and throws nothing: what can't be written is said on stderr.
void report_at_end(Transport& transport, const CallLog& log) noexcept;

}  // namespace dsop
