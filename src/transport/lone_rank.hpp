// A process that is all ranks.
#pragma once

#include <memory>

#include <dsop/transport.hpp>

namespace dsop {

/// Rank 0 of 1: what a program has that nobody has launched. Sends nothing to anybody.
std::unique_ptr<Transport> make_lone_rank();

}  // namespace dsop
