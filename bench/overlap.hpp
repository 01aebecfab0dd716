// dsop-bench outer-product --overlap: the share of a call that is hidden behind a program's own arithmetic.
#pragma once

#include <dsop/transport.hpp>

#include "outer_product.hpp"

namespace dsop::bench {

/// For every combination, two shares of a started call's time t_pure (started and waited for at once):
///
/// - hidden, as in OSU's tests of non-blocking collectives (osu_iallreduce): every rank starts the call, computes until
///   about t_pure has passed on the clock, and waits. t_compute is the time of that arithmetic, t the time of all
///   three: 1 - max(0, t - t_compute) / t_pure. Each is the median over iterations of the ranks' mean.
///   What is not hidden is the time in start() and in the wait.
/// - saved: the same formula for a given amount of arithmetic, which takes t_compute, about t_pure, when nothing else
///   runs. It also counts what the call takes of the arithmetic's cores, so where they are all busy it is smaller. Each
///   time is the median over iterations of the slowest rank's.
///
/// The four measurements take turns. The local products of a call are arithmetic too.
/// Prints a table on stdout, as rank 0.
void benchmark_overlap(Transport& transport, const OuterProductOptions& options);

}  // namespace dsop::bench
