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
/// Our kernel multiplies A by alpha, sums every element in the order k = 0 .. K-1 from zero, adds it to beta C, and
/// writes C once; panels of A and B, of about 1 MB a thread or one block of all K, are copied for it. Uses OpenMP's
/// threads of the calling thread (omp_get_max_threads()). Cost: 2 K n m flops, n m elements written once (read too
/// where beta is not 0). With AVX-512 a large C is written past the caches. A caller that writes one part after
/// another says how many bytes they have together, `all_parts_bytes`, since it is those that no cache holds; 0: C is
/// all.
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
/// element has the bits that product() gives it by our kernel. The C do not overlap.
template <class T>
void products(std::span<const Product<T>> list, InstructionSet instructions, std::size_t all_parts_bytes = 0);

/// Takes the memory in which products pack their factors on this thread, for inner dimensions up to K and any n and m,
/// so that it can't fail later. At most 1 MB a thread of its team, or a block of all K where that is more; kept until
/// the thread ends. Throws std::bad_alloc.
template <class T>
void reserve_product(std::size_t K);

}  // namespace dsop::kernels
