// MPI's counts are 32-bit ints: what is longer goes in pieces.
#pragma once

#include <algorithm>
#include <cstddef>

namespace dsop {

/// Throws TransportError naming the call unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// Calls start(offset, count) for each piece of a message; an empty message is one empty piece.
template <class Start>
void for_pieces(std::size_t bytes, std::size_t largest_piece_bytes, Start start) {
  std::size_t offset = 0;
  do {
    const std::size_t count = std::min(bytes - offset, largest_piece_bytes);
    start(offset, static_cast<int>(count));
    offset += count;
  } while (offset < bytes);
}

}  // namespace dsop
