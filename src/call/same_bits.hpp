// The check, on request, that all ranks have the same G.
#pragma once

#include <cstdint>

#include <dsop/transport.hpp>
#include <dsop/views.hpp>

namespace dsop {

/// A hash of all elements' bits, so 0 and -0 differ: FNV-1a over elements in place of bytes.
template <class T>
std::uint64_t hash_of_bits(MatrixView<const T> G);

/// Throws Error on all ranks, naming the ranks and a hash of each result, unless G has the same bits on all. Costs a
/// read of G, a multiplication an element, and an allgather of 8 bytes.
template <class T>
void check_same_bits(Transport& transport, MatrixView<const T> G);

}  // namespace dsop
