// The local product of outer products, C = alpha A^T B + beta C: the arithmetic of every outer-product algorithm.
#pragma once

#include <cstddef>
#include <span>

#include <dsop/product_method.hpp>
#include <dsop/views.hpp>

namespace dsop::kernels {

/// C = alpha A^T B + beta C, as BLAS's gemm: with beta = 0 nothing of C is read, not even NaN. By our kernel up to
/// largest_inner_dimension<T> rows of A, above it by BLAS if it may and keeps up.
/// A is K x n, B is K x m, C is n x m, all row-major with strides; K = 0 gives beta C.
/// Our kernel multiplies A by alpha, cuts K into equal slices of at most 512 rows, sums every element of a slice in the
/// order of k from zero, adds it to beta C, the next to that, and writes C once a slice; panels of A and B, of about
/// 1 MB a thread, are copied for it. Uses the threads of the calling thread (thread_count()). Cost: 2 K n m flops, n m
/// elements written for each slice (read too after the first, and where beta is not 0). With AVX-512 a large C is
/// written past the caches. A caller that writes one part after another says how many bytes they have together,
/// `all_parts_bytes`, since it is those that no cache holds; 0: C is all.
template <class T>
void product(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T alpha, T beta, ProductMethod method = {},
             std::size_t all_parts_bytes = 0);

/// One of several products: C = alpha A^T B + beta C, where A and B are those of the parts, one below the other.
template <class T>
struct Product {
  std::span<const Factors<T>> parts;
  MatrixView<T> c;
  T alpha;
  T beta;
};

/// Makes all of them in one pass: threads share the list, so that small ones cost no start of a team each. Every
/// element has the bits that product() gives it by our kernel. The C do not overlap, and none is empty.
template <class T>
void products(std::span<const Product<T>> list, InstructionSet instructions, std::size_t all_parts_bytes = 0);

/// Takes the memory in which products pack their factors on this thread, for any sizes, so that it can't fail later: 1
/// MB a thread of its team, kept until the thread ends. Throws std::bad_alloc.
template <class T>
void reserve_product();

}  // namespace dsop::kernels
