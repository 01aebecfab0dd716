// Embedding: a vector for each symbol, looked up. As a layer it is X W with one-hot X, so its gradient X^T E is a sum
// of outer products whose first factor has one element that is not zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <dsop/sparse.hpp>

#include "learn/layers/matrix.hpp"
#include "learn/layers/parameter.hpp"

namespace dsop::learn {

template <class T>
class Embedding {
 public:
  Embedding(const std::string& name, std::size_t symbols, std::size_t width, std::size_t max_pairs)
      : weights(name, symbols, width, max_pairs) {}

  static ModelSize size_of(std::size_t symbols, std::size_t width, std::size_t pairs) {
    return {symbols * width, pairs * width};
  }

  Parameter<T> weights;  ///< symbols x width

  void draw_weights(std::uint64_t seed) {
    // Each element about as large as a layer's input is: its variance is 1/3 of the bound's square.
    draw_rows(weights, 0, weights.value.rows(), 0.5, seed);
  }

  /// Makes room for a step of so many symbols, which stay the caller's.
  void prepare(std::span<const std::uint32_t> symbols) {
    symbols_ = symbols;
    error_.resize(symbols.size(), weights.value.columns());
    ones_.assign(symbols.size(), 1);
    row_offsets_.resize(symbols.size() + 1);
    std::iota(row_offsets_.begin(), row_offsets_.end(), std::size_t{0});
  }

  MatrixView<T> error() { return error_.view(); }

  void forward(MatrixView<T> output) const {
    for (std::size_t i = 0; i < symbols_.size(); ++i)
      std::copy_n(weights.value.view().row(symbols_[i]), output.columns, output.row(i));
  }

  /// As FullyConnected::factors(): one-hot rows, and the error.
  SparseFactors<T> factors() const {
    const SparseMatrixView<T> one_hot{.rows = symbols_.size(),
                                      .columns = weights.value.rows(),
                                      .row_offsets = row_offsets_,
                                      .column_indices = symbols_,
                                      .values = ones_};
    return {one_hot, error_.view()};
  }

 private:
  std::span<const std::uint32_t> symbols_;
  std::vector<T> ones_;
  std::vector<std::size_t> row_offsets_;
  Matrix<T> error_;
};

}  // namespace dsop::learn
