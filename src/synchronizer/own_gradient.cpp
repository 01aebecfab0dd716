#include "synchronizer/own_gradient.hpp"

#include <dsop/types.hpp>

#include "kernels/copy.hpp"
#include "kernels/outer_product.hpp"
#include "kernels/sparse_product.hpp"
#include "kernels/update.hpp"
#include "memory/arena.hpp"
#include "sparse/factor.hpp"

namespace dsop::synchronizer {
namespace {

template <class T>
bool both_dense(const SparseFactors<T>& factors) {
  return std::holds_alternative<MatrixView<const T>>(factors.a) &&
         std::holds_alternative<MatrixView<const T>>(factors.b);
}

template <class T>
std::size_t stored(const FactorView<T>& factor) {
  if (const auto* const sparse = std::get_if<SparseMatrixView<T>>(&factor)) return sparse->count();
  return sparse::rows_of(factor) * sparse::columns_of(factor);
}

/// Sparse factors' rows as sparse vectors, and what the product of so many rows needs.
template <class T>
struct ProductMemory {
  ProductMemory(Arena& arena, const SparseFactors<T>& factors, std::size_t rows)
      : a(arena.take<SparseVectorView<T>>(sparse::rows_of(factors.a))),
        b(arena.take<SparseVectorView<T>>(a.size())),
        terms(arena, rows, stored<T>(factors.a)) {}
  std::span<SparseVectorView<T>> a;
  std::span<SparseVectorView<T>> b;
  kernels::SparseProductMemory<T> terms;
};

// to = alpha times the vector + beta to.
template <class T>
void update_by(const SparseVectorView<T>& vector, T alpha, T beta, MatrixView<T> to) {
  if (vector.dense()) return kernels::update<T>({vector.values.data(), to.rows, to.columns}, alpha, beta, to);
  kernels::multiply_by(beta, to);
  for (std::size_t e = 0; e < vector.indices.size(); ++e)
    to.row(vector.indices[e] / to.columns)[vector.indices[e] % to.columns] += alpha * vector.values[e];
}

// to = factor times `from` + `added`, as OwnGradient::make().
template <class T>
void scale_and_add(MatrixView<const T> from, T factor, std::span<const T> added, MatrixView<T> to) {
  if (added.empty()) return kernels::update<T>(from, factor, 0, to);
  for (std::size_t i = 0; i < to.rows; ++i)
    for (std::size_t j = 0; j < to.columns; ++j) to.row(i)[j] = added[i * to.columns + j] + factor * from.row(i)[j];
}

}  // namespace

template <class T>
void OwnGradient<T>::reserve(const Given<T>& given) {
  const auto* const factors = std::get_if<SparseFactors<T>>(&given.own);
  if (factors == nullptr) return;
  if (both_dense(*factors)) return kernels::reserve_product<T>();
  Arena counting;
  static_cast<void>(ProductMemory<T>(counting, *factors, given.target.rows));
  memory_.at_least(counting.bytes());
}

template <class T>
void OwnGradient<T>::make_product(const SparseFactors<T>& factors, T alpha, T beta, MatrixView<T> to) {
  if (both_dense(factors))
    return kernels::product<T>(std::get<MatrixView<const T>>(factors.a), std::get<MatrixView<const T>>(factors.b), to,
                               alpha, beta);
  Arena arena(memory_.elements());
  const ProductMemory<T> memory(arena, factors, to.rows);
  for (std::size_t p = 0; p < memory.a.size(); ++p) {
    memory.a[p] = sparse::row(factors.a, p);
    memory.b[p] = sparse::row(factors.b, p);
  }
  kernels::sparse_product<T>({memory.a, memory.b}, 0, to, alpha, beta, memory.terms);
}

template <class T>
void OwnGradient<T>::make(const Given<T>& given, T factor, std::span<const T> added, MatrixView<T> to) {
  if (to.rows == 0 || to.columns == 0) return;
  if (std::holds_alternative<std::monostate>(given.own)) return scale_and_add<T>(given.target, factor, added, to);
  if (!added.empty()) kernels::copy<T>({added.data(), to.rows, to.columns}, to);
  const T beta = added.empty() ? 0 : 1;
  if (const auto* const factors = std::get_if<SparseFactors<T>>(&given.own))
    make_product(*factors, factor, beta, to);
  else
    update_by(std::get<SparseVectorView<T>>(given.own), factor, beta, to);
}

template <class T>
void OwnGradient<T>::update_target(const Given<T>& given, T factor) {
  const T alpha = static_cast<T>(static_cast<double>(factor) * given.update.alpha);
  if (given.target.rows == 0 || given.target.columns == 0) return;
  if (const auto* const factors = std::get_if<SparseFactors<T>>(&given.own))
    return make_product(*factors, alpha, given.beta(), given.target);
  if (const auto* const own = std::get_if<SparseVectorView<T>>(&given.own))
    return update_by(*own, alpha, given.beta(), given.target);
  kernels::update<T>(given.target, alpha, given.beta(), given.target);
}

template <class T>
void update_target(const Given<T>& given, const SparseVectorView<T>& sum) {
  update_by(sum, given.alpha(), given.beta(), given.target);
}

#define INSTANTIATE(T)           \
  template class OwnGradient<T>; \
  template void update_target(const Given<T>&, const SparseVectorView<T>&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::synchronizer
