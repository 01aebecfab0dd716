// How much this process allocates, and memory that runs out.
#pragma once

#include <cstddef>

namespace dsop::tests {

/// Allocations so far, by operator new and aligned_alloc, on all threads.
std::size_t allocations();
/// Bytes that operator new and aligned_alloc have given out and that were not given back.
std::size_t allocated_bytes();
/// The allocation with this number from now on, of the calling thread's, fails: the count goes down to 0. 0: none
/// fails.
std::size_t& allocations_until_failure();

}  // namespace dsop::tests
