// Matrices of tests of our kernels' products, and what a plain triple loop makes of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/outer_product.hpp"

namespace dsop::tests {

using Sizes = std::initializer_list<std::size_t>;

inline constexpr std::size_t guard_columns = 5;

/// A matrix that owns its elements and has `guard_columns` untouchable ones behind each row.
template <class T>
struct Matrix {
  std::size_t rows, columns;
  std::vector<T> elements;

  Matrix(std::size_t rows_, std::size_t columns_, T guard = T{-77})
      : rows(rows_), columns(columns_), elements(rows_ * (columns_ + guard_columns), guard) {}

  MatrixView<T> view() { return {elements.data(), rows, columns, columns + guard_columns}; }
  MatrixView<const T> view() const { return {elements.data(), rows, columns, columns + guard_columns}; }

  template <class Generator>
  void fill(Generator generator) {
    for (std::size_t i = 0; i < rows; ++i) std::generate_n(view().row(i), columns, generator);
  }
};

template <class T>
Matrix<T> integers(std::size_t rows, std::size_t columns, unsigned seed) {
  std::minstd_rand random{seed};
  std::uniform_int_distribution<int> values{-4, 4};
  Matrix<T> matrix{rows, columns};
  matrix.fill([&] { return static_cast<T>(values(random)); });
  return matrix;
}

template <class T>
Matrix<T> reals(std::size_t rows, std::size_t columns, unsigned seed) {
  std::minstd_rand random{seed};
  std::normal_distribution<double> values;
  Matrix<T> matrix{rows, columns};
  matrix.fill([&] { return static_cast<T>(values(random)); });
  return matrix;
}

/// The triple loop, in the arithmetic of `Sum`.
template <class Sum, class T>
Matrix<T> naive_product(const Matrix<T>& a, const Matrix<T>& b, Matrix<T> c, std::type_identity_t<T> scale,
                        std::type_identity_t<T> beta) {
  for (std::size_t i = 0; i < c.rows; ++i)
    for (std::size_t j = 0; j < c.columns; ++j) {
      Sum sum = 0;
      for (std::size_t k = 0; k < a.rows; ++k) sum += Sum{a.view().row(k)[i]} * Sum{b.view().row(k)[j]};
      T& element = c.view().row(i)[j];
      element = static_cast<T>((beta != T{0} ? Sum{beta} * Sum{element} : Sum{0}) + Sum{scale} * sum);
    }
  return c;
}

template <class T>
Matrix<T> product(const Matrix<T>& a, const Matrix<T>& b, Matrix<T> c, std::type_identity_t<T> scale,
                  std::type_identity_t<T> beta, ProductMethod method) {
  kernels::product<T>(a.view(), b.view(), c.view(), scale, beta, method);
  return c;
}

inline std::vector<InstructionSet> available_instruction_sets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512})
    if (set <= best_instruction_set()) sets.push_back(set);
  return sets;
}

}  // namespace dsop::tests
