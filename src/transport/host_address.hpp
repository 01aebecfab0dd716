// Where other hosts reach this one.
#pragma once

#include <string>

namespace dsop {

std::string host_name();

/// The IPv4 address of this host's name, or, where that is a loopback address or none, of its first interface that is
/// up; the host's name where there is no such interface.
std::string reachable_address();

}  // namespace dsop
