#include "learn/layers/lstm.hpp"

#include <algorithm>
#include <cmath>

#include <dsop/types.hpp>

#include "kernels/gemm.hpp"

namespace dsop::learn {
namespace {

template <class T>
T logistic(T x) {
  return 1 / (1 + std::exp(-x));
}

template <class T>
void copy_rows(MatrixView<const T> from, MatrixView<T> to) {
  for (std::size_t i = 0; i < to.rows; ++i) std::copy_n(from.row(i), to.columns, to.row(i));
}

}  // namespace

template <class T>
void Lstm<T>::draw_weights(std::uint64_t seed) {
  draw_rows(weights, 0, inputs_ + hidden_, glorot_bound(inputs_ + hidden_, hidden_), seed);
  std::fill_n(weights.value.view().row(inputs_ + hidden_) + hidden_, hidden_, T{1});
}

template <class T>
void Lstm<T>::prepare(std::size_t rows) {
  input_.resize(rows, inputs_ + hidden_ + 1);
  for (std::size_t i = 0; i < rows; ++i) input_.view().row(i)[inputs_ + hidden_] = 1;
  for (Matrix<T>* const matrix : {&gates_, &error_}) matrix->resize(rows, 4 * hidden_);
  for (Matrix<T>* const matrix : {&cell_before_, &cell_tanh_, &output_error_}) matrix->resize(rows, hidden_);
}

template <class T>
void Lstm<T>::forward(const Packing& packing, MatrixView<T> output, LstmState<T>* state) {
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
    copy_rows<T>(now.output.view(), before);
    copy_rows<T>(now.cell.view(), cell_before_.view().row_range(first, active));
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

template <class T>
void Lstm<T>::backward(const Packing& packing) {
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

template <class T>
void Lstm<T>::input_error(MatrixView<T> error) const {
  kernels::multiply_transposed(error_.view(), input_weights(), error);
}

#define INSTANTIATE(T) template class Lstm<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
#undef INSTANTIATE

}  // namespace dsop::learn
