// Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). At step t
//
//   [i f g o] = [x_t h_(t-1) 1] W      i, f, o through the logistic function, g through tanh
//   c_t = f c_(t-1) + i g
//   h_t = o tanh(c_t)
//
// Backpropagation through time gives the error of [i f g o] before those functions at each step, E, so that dloss/dW =
// [X H 1]^T E is a sum of outer products over steps and samples, a pair each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <dsop/views.hpp>

#include "kernels/gemm.hpp"
#include "kernels/update.hpp"
#include "learn/layers/matrix.hpp"
#include "learn/layers/packing.hpp"
#include "learn/layers/parameter.hpp"

namespace dsop::learn {

/// What is carried from one step to the next: a row for each sequence, each `hidden` long.
template <class T>
struct LstmState {
  Matrix<T> output;  ///< h
  Matrix<T> cell;    ///< c
};

/// One layer over all steps. As FullyConnected it owns its input and its errors; rows are those of a Packing.
template <class T>
class Lstm {
 public:
  Lstm(const std::string& name, std::size_t inputs, std::size_t hidden, std::size_t max_pairs)
      : weights(name, inputs + hidden + 1, 4 * hidden, max_pairs), inputs_(inputs), hidden_(hidden) {}

  static ModelSize size_of(std::size_t inputs, std::size_t hidden, std::size_t pairs) {
    const std::size_t rows = inputs + hidden + 1, gates = 4 * hidden;
    return {rows * gates, pairs * (rows + 2 * gates + 3 * hidden)};
  }

  Parameter<T> weights;  ///< (inputs + hidden + 1) x 4 hidden, in the columns i, f, g, o

  /// The bias of the forget gate is 1, so that at first memory lasts.
  void draw_weights(std::uint64_t seed) {
    draw_rows(weights, 0, inputs_ + hidden_, glorot_bound(inputs_ + hidden_, hidden_), seed);
    std::fill_n(weights.value.view().row(inputs_ + hidden_) + hidden_, hidden_, T{1});
  }

  /// Makes room for a step of so many rows.
  void prepare(std::size_t rows) {
    input_.resize(rows, inputs_ + hidden_ + 1);
    for (std::size_t i = 0; i < rows; ++i) input_.view().row(i)[inputs_ + hidden_] = 1;
    for (Matrix<T>* const matrix : {&gates_, &error_}) matrix->resize(rows, 4 * hidden_);
    for (Matrix<T>* const matrix : {&cell_before_, &cell_tanh_, &output_error_}) matrix->resize(rows, hidden_);
  }

  MatrixView<T> input() { return input_.view().column_range(0, inputs_); }
  /// The error of the output, without what later steps do to it: that is added.
  MatrixView<T> output_error() { return output_error_.view(); }

  /// Starts with `state`, of as many rows as there are sequences, or with zeros where it is null, and leaves what
  /// follows the last step in it: all sequences must then be of one length.
  void forward(const Packing& packing, MatrixView<T> output, LstmState<T>* state = nullptr) {
    const std::size_t h = hidden_;
    LstmState<T> zeros;
    LstmState<T>& now = state != nullptr ? *state : zeros;
    if (state == nullptr) {
      zeros.output.resize(packing.sequences(), h);
      zeros.cell.resize(packing.sequences(), h);
    }

    // What does not depend on earlier steps, of all steps in one product.
    for (std::size_t i = 0; i < packing.rows(); ++i)
      std::copy_n(weights.value.view().row(inputs_ + h), 4 * h, gates_.view().row(i));
    kernels::multiply(input(), input_weights(), gates_.view(), true);

    for (std::size_t t = 0; t < packing.steps(); ++t) {
      const std::size_t first = packing.row(0, t);
      const std::size_t active = packing.active(t);
      const MatrixView<T> before = input_.view().column_range(inputs_, h).row_range(first, active);
      kernels::update<T>(now.output.view().row_range(0, active), 1, 0, before);
      kernels::update<T>(now.cell.view().row_range(0, active), 1, 0, cell_before_.view().row_range(first, active));
      kernels::multiply(before, recurrent_weights(), gates_.view().row_range(first, active), true);

      for (std::size_t s = 0; s < active; ++s) {
        T* const i = gates_.view().row(first + s);
        T *const f = i + h, *const g = f + h, *const o = g + h;
        T *const c = now.cell.view().row(s), *const c_tanh = cell_tanh_.view().row(first + s);
        for (std::size_t j = 0; j < h; ++j) {
          i[j] = logistic(i[j]);
          f[j] = logistic(f[j]);
          g[j] = std::tanh(g[j]);
          o[j] = logistic(o[j]);
          c[j] = f[j] * c[j] + i[j] * g[j];
          c_tanh[j] = std::tanh(c[j]);
          output.row(first + s)[j] = now.output.view().row(s)[j] = o[j] * c_tanh[j];
        }
      }
    }
  }

  /// Backpropagation through time, from output_error() to E.
  void backward(const Packing& packing) {
    const std::size_t h = hidden_;
    cell_error_.resize(packing.sequences(), h);
    std::fill(cell_error_.elements().begin(), cell_error_.elements().end(), T{0});

    for (std::size_t t = packing.steps(); t-- > 0;) {
      const std::size_t first = packing.row(0, t);
      const std::size_t active = packing.active(t);
      for (std::size_t s = 0; s < active; ++s) {
        const T* const i = gates_.view().row(first + s);
        const T *const f = i + h, *const g = f + h, *const o = g + h;
        const T *const c_before = cell_before_.view().row(first + s), *const c_tanh = cell_tanh_.view().row(first + s);
        const T* const dh = output_error_.view().row(first + s);
        T* const dc = cell_error_.view().row(s);
        T* const di = error_.view().row(first + s);
        T *const df = di + h, *const dg = df + h, *const d_o = dg + h;
        for (std::size_t j = 0; j < h; ++j) {
          dc[j] += dh[j] * o[j] * (1 - c_tanh[j] * c_tanh[j]);
          di[j] = dc[j] * g[j] * i[j] * (1 - i[j]);
          df[j] = dc[j] * c_before[j] * f[j] * (1 - f[j]);
          dg[j] = dc[j] * i[j] * (1 - g[j] * g[j]);
          d_o[j] = dh[j] * c_tanh[j] * o[j] * (1 - o[j]);
          dc[j] *= f[j];
        }
      }
      if (t > 0)
        kernels::multiply_transposed(error_.view().row_range(first, active), recurrent_weights(),
                                     output_error().row_range(packing.row(0, t - 1), active), true);
    }
  }
  /// As FullyConnected::factors().
  Factors<T> factors() const { return {input_.view(), error_.view()}; }
  void input_error(MatrixView<T> error) const { kernels::multiply_transposed(error_.view(), input_weights(), error); }

 private:
  static T logistic(T x) { return 1 / (1 + std::exp(-x)); }
  MatrixView<const T> input_weights() const { return weights.value.view().row_range(0, inputs_); }
  MatrixView<const T> recurrent_weights() const { return weights.value.view().row_range(inputs_, hidden_); }

  std::size_t inputs_;
  std::size_t hidden_;
  Matrix<T> input_;         // [X H 1], H being the output of the step before
  Matrix<T> gates_;         // i f g o
  Matrix<T> cell_before_;   // c_(t-1)
  Matrix<T> cell_tanh_;     // tanh(c_t)
  Matrix<T> error_;         // E
  Matrix<T> output_error_;  // dloss/dh_t
  Matrix<T> cell_error_;    // dloss/dc_t, a row for each sequence
};

}  // namespace dsop::learn
