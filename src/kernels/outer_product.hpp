// The local product of outer products, C = scale A^T B (+ C): the arithmetic of every outer-product algorithm.
#pragma once

#include <cstddef>

#include <dsop/product_method.hpp>
#include <dsop/views.hpp>

namespace dsop::kernels {

/// The inner dimension up to which our kernel is faster than OpenBLAS's gemm (see outer_product.cpp for the
/// measurement); above it `product` calls gemm if it may.
template <class T>
std::size_t largest_inner_dimension();

/// C = scale A^T B, or C += scale A^T B when `accumulate`.
/// A is K x n, B is K x m, C is n x m, all row-major with strides; K = 0 gives zeros (or leaves C).
/// Our kernel multiplies A by `scale`, sums every element in the order k = 0 .. K-1 from zero, adds it to C if asked,
/// and writes C once; panels of A and B, of about 1 MB a thread or one block of all K, are copied for it. Uses OpenMP's
/// threads of the calling thread (omp_get_max_threads()). Cost: 2 K n m flops, n m elements written once (read too when
/// accumulating).
template <class T>
void product(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T scale, bool accumulate,
             ProductMethod method = {});

}  // namespace dsop::kernels
