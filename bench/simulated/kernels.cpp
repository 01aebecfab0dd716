// The local arithmetic, charged at the stated rates. Its results are made only where memory is real, in the plainest
// way.
#include "kernels/add.hpp"
#include "kernels/bf16.hpp"
#include "kernels/copy.hpp"
#include "kernels/outer_product.hpp"
#include "kernels/sparse_product.hpp"
#include "kernels/update.hpp"

#include <algorithm>
#include <map>

#include <dsop/problem.hpp>
#include <dsop/types.hpp>

#include "simulation.hpp"

namespace dsop::kernels {
namespace {

/// Calls visit(i, value) for what is not zero; row i of C is element i of the vector.
template <class T, class Visit>
void for_nonzeros(const SparseVectorView<T>& x, Visit visit) {
  for (std::size_t e = 0; e < x.values.size(); ++e)
    if (x.values[e] != T{0}) visit(x.dense() ? e : std::size_t{x.indices[e]}, x.values[e]);
}

/// Charges so many elements written, and the additions to those rows for which chosen(i).
template <class T, class Chosen>
void charge_sparse(const SparsePairs<T>& pairs, std::size_t elements, Chosen chosen) {
  double scattered = 0;
  double in_rows = 0;
  for (std::size_t k = 0; k < pairs.a.size(); ++k)
    for_nonzeros(pairs.a[k], [&](std::size_t i, T) {
      if (chosen(i)) (pairs.b[k].dense() ? in_rows : scattered) += static_cast<double>(pairs.b[k].values.size());
    });
  simulated::charge(simulated::simulation().machine.sparse_product_seconds(static_cast<double>(elements), scattered,
                                                                           in_rows, data_type<T>));
}

}  // namespace

template <class T>
void products(std::span<const Product<T>> list, InstructionSet, std::size_t) {
  const simulated::Simulation& simulation = simulated::simulation();
  for (const auto& [parts, c, alpha, beta] : list) {
    std::size_t inner = 0;
    for (const Factors<T>& part : parts) inner += part.a.rows;
    simulated::charge(simulation.machine.product_seconds(static_cast<double>(c.rows), static_cast<double>(c.columns),
                                                         static_cast<double>(inner), data_type<T>));
    if (simulation.folded) continue;
    for (std::size_t i = 0; i < c.rows; ++i) {
      multiply_by<T>(beta, std::span<T>(c.row(i), c.columns));
      for (const auto& [a, b] : parts)
        for (std::size_t p = 0; p < a.rows; ++p)
          for (std::size_t j = 0; j < c.columns; ++j) c.row(i)[j] += alpha * a.row(p)[i] * b.row(p)[j];
    }
  }
}

template <class T>
void product(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T alpha, T beta, ProductMethod method,
             std::size_t) {
  const Factors<T> whole{a, b};
  const Product<T> one{{&whole, 1}, c, alpha, beta};
  products<T>({&one, 1}, method.instructions, 0);
}

// Sparse data is never folded: what is sent depends on it.
template <class T>
void sparse_product(const SparsePairs<T>& pairs, std::size_t first_row, MatrixView<T> c, T alpha, T beta,
                    const SparseProductMemory<T>&) {
  const auto chosen = [&](std::size_t i) { return i >= first_row && i < first_row + c.rows; };
  charge_sparse(pairs, beta == T{1} ? 0 : c.rows * c.columns, chosen);
  multiply_by(beta, c);
  for (std::size_t k = 0; k < pairs.a.size(); ++k)
    for_nonzeros(pairs.a[k], [&](std::size_t i, T value) {
      if (chosen(i)) sparse::add_scaled<T>({c.row(i - first_row), c.columns}, alpha * value, pairs.b[k]);
    });
}

template <class T>
std::size_t sparse_product_rows(const SparsePairs<T>& pairs, std::span<std::uint32_t> row_indices, MatrixView<T> rows,
                                T scale, const SparseProductMemory<T>&) {
  std::map<std::size_t, std::size_t> positions;
  for (const SparseVectorView<T>& a : pairs.a) for_nonzeros(a, [&](std::size_t i, T) { positions[i]; });
  std::size_t count = 0;
  for (auto& [row, position] : positions) {
    row_indices[count] = static_cast<std::uint32_t>(row);
    std::fill_n(rows.row(count), rows.columns, T{0});
    position = count++;
  }
  charge_sparse(pairs, count * rows.columns, [](std::size_t) { return true; });
  for (std::size_t k = 0; k < pairs.a.size(); ++k)
    for_nonzeros(pairs.a[k], [&](std::size_t i, T value) {
      sparse::add_scaled<T>({rows.row(positions[i]), rows.columns}, scale * value, pairs.b[k]);
    });
  return count;
}

template <class T>
void add(std::span<T> sum, std::span<const T> left, std::span<const T> right) {
  const simulated::Simulation& simulation = simulated::simulation();
  simulated::charge(simulation.machine.addition_seconds(static_cast<double>(sum.size()), data_type<T>));
  if (!simulation.folded) simulated::add_elements(sum.data(), left.data(), right.data(), sum.size());
}

template <class T>
void copy(MatrixView<const T> from, MatrixView<T> to) {
  const simulated::Simulation& simulation = simulated::simulation();
  simulated::charge(simulation.machine.memory_seconds(2.0 * static_cast<double>(from.rows * from.columns * sizeof(T))));
  if (simulation.folded) return;
  for (std::size_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.columns, to.row(i));
}

// A pass over `elements` of bf16, with so many accesses to a float for each. Returns whether memory is real.
static bool charge_conversion(std::size_t elements, double accesses_f32) {
  const simulated::Simulation& simulation = simulated::simulation();
  simulated::charge(simulation.machine.memory_seconds((2 + 4 * accesses_f32) * static_cast<double>(elements)));
  return !simulation.folded;
}

void round_to_bf16(std::span<Bf16> out, std::span<const float> in) {
  if (!charge_conversion(out.size(), 1)) return;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = rounded(in[i]);
}

void widen(std::span<float> out, std::span<const Bf16> in) {
  if (!charge_conversion(out.size(), 1)) return;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = widened(in[i]);
}

void add_widened(std::span<float> sum, std::span<const Bf16> in) {
  if (!charge_conversion(sum.size(), 2)) return;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += widened(in[i]);
}

template <class T>
void reserve_product() {}  // nothing is packed

#define INSTANTIATE(T)                                                                                              \
  template void products(std::span<const Product<T>>, InstructionSet, std::size_t);                                 \
  template void reserve_product<T>();                                                                               \
  template void product(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, T, T, ProductMethod, std::size_t); \
  template void sparse_product(const SparsePairs<T>&, std::size_t, MatrixView<T>, T, T,                             \
                               const SparseProductMemory<T>&);                                                      \
  template std::size_t sparse_product_rows(const SparsePairs<T>&, std::span<std::uint32_t>, MatrixView<T>, T,       \
                                           const SparseProductMemory<T>&);                                          \
  template void add(std::span<T>, std::span<const T>, std::span<const T>);                                          \
  template void copy(MatrixView<const T>, MatrixView<T>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
#undef INSTANTIATE

}  // namespace dsop::kernels
