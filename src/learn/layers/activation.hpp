// What stands between two layers, element by element.
#pragma once

#include <cmath>
#include <cstddef>

#include <dsop/views.hpp>

namespace dsop::learn {

enum class Activation : unsigned char { relu, tanh };

/// y = f(y)
template <class T>
void activate(Activation f, MatrixView<T> y) {
  for (std::size_t i = 0; i < y.rows; ++i)
    for (T* element = y.row(i); element != y.row(i) + y.columns; ++element)
      // Not std::max, which would hide what is not a number.
      *element = f == Activation::tanh ? std::tanh(*element) : (*element < 0 ? T{0} : *element);
}

/// From the error of f's result y to the error of what f was given: error *= f', which y tells.
template <class T>
void activate_backward(Activation f, MatrixView<const T> y, MatrixView<T> error) {
  for (std::size_t i = 0; i < y.rows; ++i)
    for (std::size_t j = 0; j < y.columns; ++j) {
      const T value = y.row(i)[j];
      error.row(i)[j] *= f == Activation::tanh ? 1 - value * value : static_cast<T>(value > 0);
    }
}

}  // namespace dsop::learn
