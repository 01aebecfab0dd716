// How far ahead of the rest an algorithm must be predicted to be before `auto` takes it.
#pragma once

namespace dsop {

/// For sums of sparse vectors, of what works in pieces while it waits for messages: they wait for the pieces of other
/// ranks' work, which no formula sees.
inline constexpr double lead_of_pieces = 1.5;

/// For outer products on a machine that was measured, of what a formula hides behind messages: the share that `auto`
/// does not count on, for the same reason; more where several measurements of it differ by more. Found with the rows of
/// a run of scripts/regret, and confirmed by two others, the last of them after messages between nodes were cut
/// (docs/regret.md). Not of overlapped allgathers: what they lost in those runs was lost where partners change.
inline constexpr double doubted_share = 0.3;

/// Of another allgather than the ring, where ranks come to it one after the other, as from products. Where partners
/// change, a rank that is ahead shares its partner's link with what that one waits for, which no measured step knows
/// of.
inline constexpr double needed_lead_out_of_step = 1 / 0.9;

}  // namespace dsop
