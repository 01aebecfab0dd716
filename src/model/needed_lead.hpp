// How far ahead of the rest an algorithm must be predicted to be before `auto` takes it.
#pragma once

namespace dsop {

/// Of what works in pieces while it waits for messages: they wait for the pieces of other ranks' work, which no formula
/// sees. Without it `auto` took up to twice the best time (docs/regret.md).
inline constexpr double lead_of_pieces = 1.5;

}  // namespace dsop
