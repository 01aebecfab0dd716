// A perceptron of any number of layers, with softmax cross-entropy at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dsop/views.hpp>

#include "learn/layers/activation.hpp"
#include "learn/layers/fully_connected.hpp"
#include "learn/layers/softmax_cross_entropy.hpp"
#include "learn/strategies/strategy.hpp"

namespace dsop::learn {

template <class T>
class Mlp {
 public:
  /// widths: inputs, hidden layers, classes. `samples` is the most that a step will have.
  Mlp(std::span<const std::size_t> widths, Activation f, std::size_t samples, std::uint64_t seed);

  static ModelSize size_of(std::span<const std::size_t> widths, std::size_t samples);

  std::vector<Parameter<T>*> parameters();

  /// Makes room for so many samples, whose values are then written to the result, a row each.
  MatrixView<T> input(std::size_t samples);

  /// The loss of what stands in input(); the error that backward() starts from is that of `weight` times its sum.
  Loss forward(std::span<const std::uint32_t> labels, double weight, Strategy<T>& strategy);
  void backward(Strategy<T>& strategy);

  /// The first layer whose result, in the last forward(), holds something that is not finite; empty if none does.
  std::string not_finite();

 private:
  Activation f_;
  std::vector<FullyConnected<T>> layers_;
};

}  // namespace dsop::learn
