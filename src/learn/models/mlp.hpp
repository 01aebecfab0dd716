// A perceptron of any number of layers, with softmax cross-entropy at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dsop/views.hpp>

#include "learn/layers/activation.hpp"
#include "learn/layers/finite.hpp"
#include "learn/layers/fully_connected.hpp"
#include "learn/layers/softmax_cross_entropy.hpp"
#include "learn/strategies/strategy.hpp"

namespace dsop::learn {

template <class T>
class Mlp {
 public:
  /// widths: inputs, hidden layers, classes. `samples` is the most that a step will have.
  Mlp(std::span<const std::size_t> widths, Activation f, std::size_t samples, std::uint64_t seed) : f_(f) {
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
      layers_.emplace_back("layer" + std::to_string(l + 1), widths[l], widths[l + 1], samples);
      layers_.back().draw_weights(seed);
    }
  }

  static ModelSize size_of(std::span<const std::size_t> widths, std::size_t samples) {
    ModelSize size;
    for (std::size_t l = 0; l + 1 < widths.size(); ++l)
      size += FullyConnected<T>::size_of(widths[l], widths[l + 1], samples);
    return size;
  }

  std::vector<Parameter<T>*> parameters() {
    std::vector<Parameter<T>*> parameters;
    for (FullyConnected<T>& layer : layers_) parameters.push_back(&layer.weights);
    return parameters;
  }

  /// Makes room for so many samples, whose values are then written to the result, a row each.
  MatrixView<T> input(std::size_t samples) {
    for (FullyConnected<T>& layer : layers_) layer.prepare(samples);
    return layers_.front().input();
  }

  /// The loss of what stands in input(); the error that backward() starts from is that of `weight` times its sum.
  Loss forward(std::span<const std::uint32_t> labels, double weight, Strategy<T>& strategy) {
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
      const MatrixView<T> y = layers_[l + 1].input();
      strategy.need(layers_[l].weights);
      layers_[l].forward(y);
      activate(f_, y);
    }
    const MatrixView<T> scores = layers_.back().error();
    strategy.need(layers_.back().weights);
    layers_.back().forward(scores);
    return softmax_cross_entropy(scores, labels, weight);
  }
  void backward(Strategy<T>& strategy) {
    for (std::size_t l = layers_.size(); l-- > 0;) {
      if (l > 0) layers_[l].backward(layers_[l - 1].error());
      // Here dsop enters: the factors travel while the layers below are still at work. Their products may be added to
      // the weights at once: backward() was the last to read these.
      strategy.give(layers_[l].weights, layers_[l].factors());
      if (l > 0) activate_backward<T>(f_, layers_[l].input(), layers_[l - 1].error());
    }
  }

  /// The first layer whose result, in the last forward(), holds something that is not finite; empty if none does.
  std::string not_finite() {
    if (!all_finite<T>(layers_.front().input())) return "input";
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l)
      if (!all_finite<T>(layers_[l + 1].input())) return layers_[l].weights.name;
    return all_finite<T>(layers_.back().error()) ? "" : layers_.back().weights.name;
  }

 private:
  Activation f_;
  std::vector<FullyConnected<T>> layers_;
};

}  // namespace dsop::learn
