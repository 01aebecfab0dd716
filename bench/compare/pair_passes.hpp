// The arithmetic of the DSOP paper's allgather baseline.
#pragma once

#include <dsop/views.hpp>

namespace dsop::bench::compare {

/// G = A^T B by a rank-1 update of the whole G for each of the K pairs: A is K x n, B is K x m, G is n x m without
/// gaps. The first pass writes G, each other reads and writes it; K = 0 writes zeros. Rows of G are shared out to
/// OpenMP's threads. Cost: 2 K n m flops; G is written K times and read K-1 times.
template <class T>
void pair_passes(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> G);

}  // namespace dsop::bench::compare
