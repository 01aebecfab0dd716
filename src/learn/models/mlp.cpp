#include "learn/models/mlp.hpp"

#include <dsop/types.hpp>

#include "learn/layers/finite.hpp"

namespace dsop::learn {

template <class T>
Mlp<T>::Mlp(std::span<const std::size_t> widths, Activation f, std::size_t samples, std::uint64_t seed) : f_(f) {
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    layers_.emplace_back("layer" + std::to_string(l + 1), widths[l], widths[l + 1], samples);
    layers_.back().draw_weights(seed);
  }
}

template <class T>
ModelSize Mlp<T>::size_of(std::span<const std::size_t> widths, std::size_t samples) {
  ModelSize size;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l)
    size += FullyConnected<T>::size_of(widths[l], widths[l + 1], samples);
  return size;
}

template <class T>
std::vector<Parameter<T>*> Mlp<T>::parameters() {
  std::vector<Parameter<T>*> parameters;
  for (FullyConnected<T>& layer : layers_) parameters.push_back(&layer.weights);
  return parameters;
}

template <class T>
MatrixView<T> Mlp<T>::input(std::size_t samples) {
  for (FullyConnected<T>& layer : layers_) layer.prepare(samples);
  return layers_.front().input();
}

template <class T>
Loss Mlp<T>::forward(std::span<const std::uint32_t> labels, double weight, Strategy<T>& strategy) {
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

template <class T>
void Mlp<T>::backward(Strategy<T>& strategy) {
  for (std::size_t l = layers_.size(); l-- > 0;) {
    if (l > 0) layers_[l].backward(layers_[l - 1].error());
    // Here dsop enters: the factors travel while the layers below are still at work. Their products may be added to the
    // weights at once: backward() was the last to read these.
    strategy.give(layers_[l].weights, layers_[l].factors());
    if (l > 0) activate_backward<T>(f_, layers_[l].input(), layers_[l - 1].error());
  }
}

template <class T>
std::string Mlp<T>::not_finite() {
  if (!all_finite<T>(layers_.front().input())) return "input";
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l)
    if (!all_finite<T>(layers_[l + 1].input())) return layers_[l].weights.name;
  return all_finite<T>(layers_.back().error()) ? "" : layers_.back().weights.name;
}

#define INSTANTIATE(T) template class Mlp<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
#undef INSTANTIATE

}  // namespace dsop::learn
