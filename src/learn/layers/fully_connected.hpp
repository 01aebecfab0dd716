// Fully connected: Y = [X 1] W, a sample a row; the last row of W is the bias.
//
// Forward   Y = [X 1] W
// Backward  given E = dloss/dY:   dloss/dW = [X 1]^T E, a sum of outer products, a pair a sample
//                                 dloss/dX = E W^T, without W's last row
#pragma once

#include <cstdint>
#include <string>

#include <dsop/views.hpp>

#include "kernels/gemm.hpp"
#include "learn/layers/matrix.hpp"
#include "learn/layers/parameter.hpp"

namespace dsop::learn {

/// The layer owns its input and the error of its output: whoever makes them writes them here.
template <class T>
class FullyConnected {
 public:
  FullyConnected(const std::string& name, std::size_t inputs, std::size_t outputs, std::size_t max_pairs)
      : weights(name, inputs + 1, outputs, max_pairs), inputs_(inputs) {}

  static ModelSize size_of(std::size_t inputs, std::size_t outputs, std::size_t pairs) {
    return {(inputs + 1) * outputs, pairs * (inputs + 1 + outputs)};
  }

  Parameter<T> weights;  ///< (inputs + 1) x outputs

  void draw_weights(std::uint64_t seed) {
    draw_rows(weights, 0, inputs_, glorot_bound(inputs_, weights.value.columns()), seed);
  }

  /// Makes room for a step of so many samples.
  void prepare(std::size_t samples) {
    input_.resize(samples, inputs_ + 1);
    error_.resize(samples, weights.value.columns());
    for (std::size_t i = 0; i < samples; ++i) input_.view().row(i)[inputs_] = 1;
  }

  MatrixView<T> input() { return input_.view().column_range(0, inputs_); }
  MatrixView<T> error() { return error_.view(); }

  void forward(MatrixView<T> output) const { kernels::multiply(input_.view(), weights.value.view(), output); }

  /// What W's gradient is the sum of outer products of. Stays until the next prepare().
  Factors<T> factors() const { return {input_.view(), error_.view()}; }

  void backward(MatrixView<T> input_error) const {
    kernels::multiply_transposed(error_.view(), weights.value.view().row_range(0, inputs_), input_error);
  }

 private:
  std::size_t inputs_;
  Matrix<T> input_;  // [X 1]
  Matrix<T> error_;
};

}  // namespace dsop::learn
