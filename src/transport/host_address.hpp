// Where other hosts reach this one.
#pragma once

#include <string>

namespace dsop {

/// The IPv4 address of this host's name, or, where that is a loopback address or none, of its first interface that is
/// up; the host's name where there is no such interface.
std::string reachable_address();

}  // namespace dsop
