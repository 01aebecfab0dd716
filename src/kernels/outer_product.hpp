// The local product of outer products, C = scale A^T B (+ C): the arithmetic of every outer-product algorithm.
#pragma once

#include <string_view>

#include <dsop/views.hpp>

namespace dsop::kernels {

/// The vector instructions a product may use, in rising order; on other machines than x86-64 only `baseline` exists.
/// avx2 (with fused multiply-add) and avx512 give the same bits as each other, baseline on x86-64 (no fused
/// multiply-add) does not.
enum class InstructionSet : unsigned char { baseline, avx2, avx512 };

/// The best this processor and operating system have.
InstructionSet best_instruction_set();
std::string_view name(InstructionSet set);

/// How a product is made. Ranks that compute the same element must agree on it, or their bits may differ.
struct ProductMethod {
  InstructionSet instructions = best_instruction_set();
  bool blas_allowed = true;  ///< false: our kernel for every K, sequential in k, whatever the block shape and threads
};

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
