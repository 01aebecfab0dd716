// Writing down what is chosen, by several threads, in one pass and in the order of indices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "algorithms/selection/algorithm.hpp"
#include "algorithms/selection/cut.hpp"
#include "algorithms/selection/ranges.hpp"

namespace dsop::selection {

/// Whether all that were chosen found room; else the room holds those of the lowest indices.
enum class Collected : unsigned char { all, as_many_as_fit };

/// `choose` writes what it chooses of a block to a Picked, and gives their number: choose(block, index of its first
/// element, picked). The first thread writes to the result, the others beside it, from where all move their pieces up.
/// Cost: one read of all values; what the other threads chose is copied once.
template <class T, class Choose>
Collected collect(SelectionCall<T>& call, const Choose& choose) {
  const std::size_t N = call.values.size();
  const std::size_t threads = threads_for(N);
  const auto piece_room = [&](std::size_t team) { return std::min(call.room(), (N + team - 1) / team); };
  const std::span<std::size_t> counts = call.memory.counts.at_least(threads);
  const std::size_t beside = threads == 1 ? 0 : std::min(threads * call.room(), N + threads);
  const std::span<sparse::Index> indices = call.memory.piece_indices.at_least(beside);
  const std::span<T> values = call.memory.piece_values.at_least(beside);
  std::size_t pieces = 1;

  kernels::on_threads(threads, [&](std::size_t t, std::size_t team) {
    const std::size_t room = t == 0 ? call.room() : piece_room(team);
    sparse::Index* const own_indices = t == 0 ? call.indices.data() : indices.data() + t * room;
    T* const own_values = t == 0 ? call.chosen.data() : values.data() + t * room;
    kernels::Picked<T> picked;
    std::size_t count = 0;
    for_blocks(call.values, N * t / team, N * (t + 1) / team, [&](std::span<const T> block, std::size_t first) {
      const std::size_t found = choose(block, static_cast<sparse::Index>(first), picked);
      const std::size_t fits = std::min(found, room - count);
      std::copy_n(picked.indices, fits, own_indices + count);
      std::copy_n(picked.values, fits, own_values + count);
      count += found;
      return found == fits;
    });
    counts[t] = count;
    if (t == 0) pieces = team;
  });

  kernels::on_threads(pieces, [&](std::size_t u, std::size_t team) {
    std::size_t there = std::min(counts[0], call.room());
    for (std::size_t t = 1; t < pieces; ++t) {
      const std::size_t fits = std::min(counts[t], call.room() - there);
      const std::size_t first = fits * u / team;
      const std::size_t share = fits * (u + 1) / team - first;
      std::copy_n(indices.data() + t * piece_room(pieces) + first, share, call.indices.data() + there + first);
      std::copy_n(values.data() + t * piece_room(pieces) + first, share, call.chosen.data() + there + first);
      there += fits;
    }
  });
  const std::size_t total =
      std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(pieces), std::size_t{0});
  call.count = std::min(total, call.room());
  return total == call.count ? Collected::all : Collected::as_many_as_fit;
}

/// Collects what lies beyond `cut`.
template <class T>
Collected take(SelectionCall<T>& call, Cut<T> cut) {
  const Collected collected = collect(call, Beyond(cut));
  call.threshold = kernels::magnitude_of<T>(cut.key);
  call.has_all_not_finite = collected == Collected::all && cut.key < kernels::infinity_key<T>;
  return collected;
}

}  // namespace dsop::selection
