// Whether long messages travel in pieces: both are tried.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <dsop/machine.hpp>

#include "machine/sampling.hpp"

namespace dsop {

constexpr int turns_to_try = 4;
constexpr int steps_of_a_turn = 2;

/// Whether messages of one length take less time whole, by turns. Less than a fifth may be noise.
template <class Step, class UsePieces>
bool is_faster_whole(Sampling& sampling, bool take_part, const Step& step, double& piece_bytes,
                     const UsePieces& use_pieces) {
  constexpr double surely = 1.2;
  const double cut_bytes = piece_bytes;
  std::array<double, 2> least_seconds{1e300, 1e300};  // in pieces, whole
  for (int turn = 0; turn < turns_to_try; ++turn) {
    const auto is_whole = static_cast<std::size_t>(turn % 2);
    piece_bytes = is_whole != 0 ? 0 : cut_bytes;
    use_pieces();
    least_seconds[is_whole] =
        std::min(least_seconds[is_whole], sampling.step_seconds(take_part, steps_of_a_turn, step));
  }
  piece_bytes = cut_bytes;
  return surely * least_seconds[1] < least_seconds[0];
}

/// Sets `piece_bytes`, a number of the machine that use_pieces() tells the transport, to 0 if messages of each of these
/// lengths take less time whole. Leaves it where that would take longer than `until` to find out, by what short
/// messages take; and where the transport cuts none.
template <class StepOf, class UsePieces>
void try_whole_messages(Sampling& sampling, bool take_part, std::span<const std::size_t> lengths_bytes,
                        const StepOf& step_of, double until, double& piece_bytes, const UsePieces& use_pieces) {
  constexpr std::size_t short_bytes = step_bytes[1];
  if (!use_pieces()) return;
  const double short_seconds = sampling.step_seconds(take_part, 1, step_of(short_bytes));
  const bool are_faster_whole = std::ranges::all_of(lengths_bytes, [&](std::size_t bytes) {
    const double seconds = short_seconds * std::max(static_cast<double>(bytes) / short_bytes, 1.0);
    return sampling.fit(turns_to_try * (steps_of_a_turn + 1), seconds, until) &&
           is_faster_whole(sampling, take_part, step_of(bytes), piece_bytes, use_pieces);
  });
  if (are_faster_whole) piece_bytes = 0;
  use_pieces();
}

}  // namespace dsop
