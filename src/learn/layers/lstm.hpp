// Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). At step t
//
//   [i f g o] = [x_t h_(t-1) 1] W      i, f, o through the logistic function, g through tanh
//   c_t = f c_(t-1) + i g
//   h_t = o tanh(c_t)
//
// Backpropagation through time gives the error of [i f g o] before those functions at each step, E, so that dloss/dW =
// [X H 1]^T E is a sum of outer products over steps and samples, a pair each.
#pragma once

#include <cstdint>
#include <string>

#include <dsop/views.hpp>

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
  void draw_weights(std::uint64_t seed);

  /// Makes room for a step of so many rows.
  void prepare(std::size_t rows);

  MatrixView<T> input() { return input_.view().column_range(0, inputs_); }
  /// The error of the output, without what later steps do to it: that is added.
  MatrixView<T> output_error() { return output_error_.view(); }

  /// Starts with `state`, of as many rows as there are sequences, or with zeros where it is null, and leaves what
  /// follows the last step in it: all sequences must then be of one length.
  void forward(const Packing& packing, MatrixView<T> output, LstmState<T>* state = nullptr);

  /// Backpropagation through time, from output_error() to E.
  void backward(const Packing& packing);
  /// As FullyConnected::factors().
  Factors<T> factors() const { return {input_.view(), error_.view()}; }
  void input_error(MatrixView<T> error) const;

 private:
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
