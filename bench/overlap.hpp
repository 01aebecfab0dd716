// dsop-bench outer-product --overlap: the share of a call that is hidden behind a program's own arithmetic.
#pragma once

#include <dsop/transport.hpp>

#include "outer_product.hpp"

namespace dsop::bench {

/// For every combination, in the manner of OSU's tests of non-blocking collectives (osu_iallreduce): a call that is
/// started and waited for at once takes t_pure; arithmetic of about that length, on every rank, takes t_compute alone;
/// a call that is started before that arithmetic and waited for after it takes t. Hidden is the share
/// 1 - max(0, t - t_compute) / t_pure. All times are medians over iterations of the slowest rank's; the three take
/// turns. The local products of a call are arithmetic too, and where the cores are busy they can't be hidden.
/// Prints a table on stdout, as rank 0.
void benchmark_overlap(Transport& transport, const OuterProductOptions& options);

}  // namespace dsop::bench
