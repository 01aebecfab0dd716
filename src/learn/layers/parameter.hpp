// What is learnt: a layer's weights, and their gradient.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <dsop/synchronizer.hpp>

#include "base/mix.hpp"
#include "learn/layers/matrix.hpp"

namespace dsop::learn {

/// `value` and `gradient` have one shape. In a step a rank gives at most `max_pairs` pairs, whose outer products,
/// summed over the pairs of all ranks, are the gradient.
template <class T>
struct Parameter {
  std::string name;
  std::size_t max_pairs = 0;
  std::size_t expected_pairs = 0;  ///< in most steps; 0: max_pairs
  Matrix<T> value = {};
  Matrix<T> gradient = {};
  /// Where the step's sum of gradients goes: target = update.beta target + update.alpha sum. The optimizer says it in
  /// each step: the gradient, or where it adds to what it remembers, or to the value.
  MatrixView<T> target = {};
  Update update = {};

  Parameter(std::string name_, std::size_t rows, std::size_t columns, std::size_t max_pairs_)
      : name(std::move(name_)), max_pairs(max_pairs_), value(rows, columns), gradient(rows, columns) {}
};

/// How much a model keeps, before it has memory for it: elements, of a layer or of all.
struct ModelSize {
  std::size_t weights = 0;
  std::size_t of_step = 0;  ///< layers' inputs and errors, of the samples of a step

  ModelSize& operator+=(const ModelSize& other) {
    weights += other.weights;
    of_step += other.of_step;
    return *this;
  }
};

/// Sets rows first .. first + count - 1 to numbers that look random, evenly spread in [-bound, bound): functions of
/// seed, name and place, so that all ranks have the same.
template <class T>
void draw_rows(Parameter<T>& parameter, std::size_t first, std::size_t count, double bound, std::uint64_t seed) {
  std::uint64_t stream = mix(seed);
  for (const char letter : parameter.name) stream = mix(stream ^ static_cast<unsigned char>(letter));
  const MatrixView<T> rows = parameter.value.view().row_range(first, count);
  for (std::size_t i = 0; i < rows.rows; ++i)
    for (std::size_t j = 0; j < rows.columns; ++j) {
      const double unit = static_cast<double>(mix(stream + (first + i) * rows.columns + j) >> 11) * 0x1p-53;
      rows.row(i)[j] = static_cast<T>(bound * (2 * unit - 1));
    }
}

/// The bound that keeps the size of what goes through a layer, forward and backward (Glorot and Bengio 2010).
inline double glorot_bound(std::size_t inputs, std::size_t outputs) {
  return std::sqrt(6 / static_cast<double>(inputs + outputs));
}

}  // namespace dsop::learn
