#include "learn/optimizers/optimizer.hpp"

#include <cmath>
#include <span>

#include <dsop/errors.hpp>
#include <dsop/types.hpp>

#include "kernels/threads.hpp"
#include "kernels/update.hpp"

namespace dsop::learn {

// About 10 us on one thread: waking a team takes a few.
constexpr std::size_t parallel_weights = 1 << 16;

std::size_t memories_of(const OptimizerOptions& options) {
  if (options.name == "adam") return 2;
  return options.momentum == 0 ? 0 : 1;
}

template <class T>
Optimizer<T>::Optimizer(std::vector<Parameter<T>*> parameters, std::size_t memories, double weight_decay)
    : parameters_(std::move(parameters)), memories_(memories), weight_decay_(weight_decay) {
  for (const Parameter<T>* const parameter : parameters_)
    for (std::size_t i = 0; i < memories; ++i) state_.emplace_back(parameter->value.rows(), parameter->value.columns());
}

template <class T>
template <class Body>
void Optimizer<T>::for_each_weight(std::size_t parameter, const Body& body) {
  const std::span<T> w = parameters_[parameter]->value.elements();
  const std::span<const T> g = parameters_[parameter]->gradient.elements();
  const auto decay = static_cast<T>(weight_decay_);
  const std::size_t threads = w.size() >= parallel_weights ? kernels::thread_count() : 1;
  kernels::on_threads(threads, [&](std::size_t t, std::size_t team) {
    for (std::size_t i = w.size() * t / team; i < w.size() * (t + 1) / team; ++i) body(i, w[i], g[i] + decay * w[i]);
  });
}

namespace {

/// v = momentum v + G + decay w,  w = w - rate v. Without momentum v is G + decay w, and nothing is remembered.
///
/// G, the sum of gradients, is added as it is made, in one pass: to v, or without momentum to w. Only where G must
/// stand by itself, to be clipped or because the sums can go nowhere else, is it read from the gradient.
template <class T>
class Sgd final : public Optimizer<T> {
 public:
  Sgd(std::vector<Parameter<T>*> parameters, const OptimizerOptions& options)
      : Optimizer<T>(std::move(parameters), memories_of(options), options.weight_decay),
        momentum_(options.momentum),
        decay_(options.weight_decay),
        needs_gradient_(options.sums_in_gradients || options.clip_norm > 0) {}

  void update(std::size_t parameter) override {
    const auto rate = static_cast<T>(this->learning_rate_), momentum = static_cast<T>(momentum_);
    if (needs_gradient_ && momentum_ == 0)
      return this->for_each_weight(parameter, [&](std::size_t, T& w, T g) { w -= rate * g; });
    if (needs_gradient_) {
      const std::span<T> v = this->memory(parameter, 0);
      return this->for_each_weight(parameter, [&](std::size_t i, T& w, T g) {
        v[i] = momentum * v[i] + g;
        w -= rate * v[i];
      });
    }
    if (momentum_ != 0) add_momentum(parameter);
  }

 protected:
  void set_target(std::size_t parameter) override {
    if (needs_gradient_) return Optimizer<T>::set_target(parameter);
    Parameter<T>& p = *this->parameters()[parameter];
    if (momentum_ == 0) {
      p.target = p.value.view();
      p.update = {.alpha = -this->learning_rate_, .beta = 1 - this->learning_rate_ * decay_};
    } else {
      p.target = this->state()[parameter].view();
      p.update = {.alpha = 1, .beta = momentum_};
    }
  }

 private:
  /// v holds momentum v + G.
  void add_momentum(std::size_t parameter) {
    const auto rate = static_cast<T>(this->learning_rate_), decay = static_cast<T>(decay_);
    const MatrixView<T> w = this->parameters()[parameter]->value.view();
    const MatrixView<T> v = this->state()[parameter].view();
    if (decay_ != 0) kernels::update<T>(w, decay, 1, v);
    kernels::update<T>(v, -rate, 1, w);
  }

  double momentum_;
  double decay_;
  bool needs_gradient_;
};

/// Kingma and Ba 2015, algorithm 1 in the form at the end of its section 2:
/// m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,  w = w - rate_t m / (sqrt(v) + epsilon_t)
template <class T>
class Adam final : public Optimizer<T> {
 public:
  Adam(std::vector<Parameter<T>*> parameters, const OptimizerOptions& options)
      : Optimizer<T>(std::move(parameters), memories_of(options), options.weight_decay) {}

  void update(std::size_t parameter) override {
    const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    const auto t = static_cast<double>(this->steps_);
    const double unbiased_v = std::sqrt(1 - std::pow(beta2, t));
    const auto rate = static_cast<T>(this->learning_rate_ * unbiased_v / (1 - std::pow(beta1, t)));
    const auto smallest = static_cast<T>(epsilon * unbiased_v);
    const auto b1 = static_cast<T>(beta1), b2 = static_cast<T>(beta2);
    const std::span<T> m = this->memory(parameter, 0), v = this->memory(parameter, 1);
    this->for_each_weight(parameter, [&](std::size_t i, T& w, T g) {
      m[i] = b1 * m[i] + (1 - b1) * g;
      v[i] = b2 * v[i] + (1 - b2) * g * g;
      w -= rate * m[i] / (std::sqrt(v[i]) + smallest);
    });
  }
};

}  // namespace

template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(std::vector<Parameter<T>*> parameters, const OptimizerOptions& options) {
  if (options.name == "sgd") return std::make_unique<Sgd<T>>(std::move(parameters), options);
  if (options.name == "adam") return std::make_unique<Adam<T>>(std::move(parameters), options);
  throw ArgumentError("optimizer is " + options.name + ", expected sgd or adam");
}

template <class T>
double clip_gradients(const std::vector<Parameter<T>*>& parameters, double largest) {
  double squares = 0;
  for (const Parameter<T>* const parameter : parameters)
    for (const T g : parameter->gradient.elements()) squares += static_cast<double>(g) * static_cast<double>(g);
  const double norm = std::sqrt(squares);
  if (norm > largest && std::isfinite(norm))
    for (Parameter<T>* const parameter : parameters)
      for (T& g : parameter->gradient.elements()) g = static_cast<T>(static_cast<double>(g) * (largest / norm));
  return norm;
}

#define INSTANTIATE(T)                                                                                        \
  template class Optimizer<T>;                                                                                \
  template std::unique_ptr<Optimizer<T>> make_optimizer(std::vector<Parameter<T>*>, const OptimizerOptions&); \
  template double clip_gradients(const std::vector<Parameter<T>*>&, double);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::learn
