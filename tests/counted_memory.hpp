// How much this process allocates.
#pragma once

#include <cstddef>

namespace dsop::tests {

/// Allocations so far, by operator new and aligned_alloc, on all threads.
std::size_t allocations();
/// Bytes that operator new and aligned_alloc have given out and that were not given back.
std::size_t allocated_bytes();

}  // namespace dsop::tests
