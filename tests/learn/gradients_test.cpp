// Backpropagation beside finite differences, in f64: for every weight of every layer, the slope of the loss between
// w - h and w + h, whose error is of the order of h^2.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/mix.hpp"
#include "learn/models/mlp.hpp"
#include "learn/models/sequence_model.hpp"
#include "learn/strategies/strategy.hpp"
#include "synchronizer/own_gradient.hpp"

namespace dsop::learn {
namespace {

/// One rank alone: the gradient is its own.
class Alone final : public Strategy<double> {
 public:
  void give(Parameter<double>& parameter, const SparseFactors<double>& factors) override {
    const synchronizer::Given<double> whole{factors, parameter.gradient.view()};
    product.reserve(whole);
    product.make(whole, 1, {}, whole.target);
    given.push_back(parameter.name);
    if (overwrites_values)
      std::fill_n(parameter.value.elements().begin(), parameter.value.elements().size(),
                  std::numeric_limits<double>::quiet_NaN());
  }
  std::string describe() const override { return ""; }

  synchronizer::OwnGradient<double> product;
  std::vector<std::string> given;
  bool overwrites_values = false;  ///< as soon as they are given
};

std::vector<std::vector<double>> gradients_of(const std::vector<Parameter<double>*>& parameters) {
  std::vector<std::vector<double>> gradients;
  for (const Parameter<double>* const parameter : parameters) {
    const std::span<const double> gradient = parameter->gradient.elements();
    gradients.emplace_back(gradient.begin(), gradient.end());
  }
  return gradients;
}

double number(std::uint64_t i) {
  return static_cast<double>(mix(i) >> 11) * 0x1p-52 - 1;
}  // in [-1, 1)

/// The largest difference, over all weights, between the gradients that stand in them and the slopes of `loss`,
/// relative to the larger of the two but at least to 1e-3. `what` is set to where it is.
double largest_difference(const std::vector<Parameter<double>*>& parameters, const std::function<double()>& loss,
                          std::string& what) {
  const double h = 1e-5;
  double largest = 0;
  for (Parameter<double>* const parameter : parameters)
    for (std::size_t i = 0; i < parameter->value.elements().size(); ++i) {
      double& w = parameter->value.elements()[i];
      const double kept = w;
      w = kept + h;
      const double above = loss();
      w = kept - h;
      const double below = loss();
      w = kept;
      const double slope = (above - below) / (2 * h);
      const double gradient = parameter->gradient.elements()[i];
      const double size = std::max({std::abs(slope), std::abs(gradient), 1e-3});
      const double difference = std::abs(slope - gradient) / size;
      if (!(difference <= largest)) {
        largest = difference;
        what = parameter->name + ", element " + std::to_string(i) + ": " + std::to_string(gradient) + " and " +
               std::to_string(slope);
      }
    }
  return largest;
}

void check_mlp(const std::vector<std::size_t>& widths, Activation f) {
  const std::size_t samples = 5;
  Mlp<double> model(widths, f, samples, 7);
  Alone strategy;
  std::vector<std::uint32_t> labels;
  for (std::size_t i = 0; i < samples; ++i) labels.push_back(static_cast<std::uint32_t>(i % widths.back()));
  const auto loss = [&] {
    const MatrixView<double> x = model.input(samples);
    for (std::size_t i = 0; i < samples; ++i)
      for (std::size_t j = 0; j < x.columns; ++j) x.row(i)[j] = number(100 * i + j);
    return 0.25 * model.forward(labels, 0.25, strategy).sum;
  };
  loss();
  model.backward(strategy);
  CHECK(strategy.given.size() == widths.size() - 1);
  std::string what;
  const double difference = largest_difference(model.parameters(), loss, what);
  INFO(what);
  CHECK(difference < 1e-6);
}

SequenceBatch batch_of(const std::vector<std::size_t>& lengths, const SequenceShape& shape) {
  SequenceBatch batch{Packing(lengths), {}, {}, {}, 0.5, 0.125};
  for (std::size_t i = 0; i < batch.packing.rows(); ++i) {
    batch.symbols.push_back(static_cast<std::uint32_t>(mix(i) % shape.symbols));
    batch.symbol_labels.push_back(static_cast<std::uint32_t>(mix(i + 1000) % shape.symbol_classes));
  }
  for (std::size_t s = 0; s < lengths.size() && shape.sequence_classes > 0; ++s)
    batch.sequence_labels.push_back(static_cast<std::uint32_t>(s % shape.sequence_classes));
  return batch;
}

void check_sequences(const std::vector<std::size_t>& lengths, SequenceShape shape, bool carries_state) {
  shape.max_symbols = Packing(lengths).rows();
  shape.max_sequences = lengths.size();
  SequenceModel<double> model(shape, 3);
  Alone strategy;
  const SequenceBatch batch = batch_of(lengths, shape);
  const auto loss = [&] {
    std::vector<LstmState<double>> states;
    if (carries_state) states = model.initial_states(lengths.size());
    for (LstmState<double>& state : states)
      for (std::size_t i = 0; i < state.output.elements().size(); ++i) {
        state.output.elements()[i] = number(i);
        state.cell.elements()[i] = number(i + 500);
      }
    const SequenceLoss sums = model.forward(batch, strategy, states);
    return batch.symbol_weight * sums.symbols.sum + batch.sequence_weight * sums.sequences.sum;
  };
  loss();
  model.backward(batch, strategy);
  CHECK(strategy.given.size() == model.parameters().size());
  std::string what;
  const double difference = largest_difference(model.parameters(), loss, what);
  INFO(what);
  CHECK(difference < 1e-6);
}

}  // namespace

TEST_CASE("a perceptron's gradients are the slopes of its loss", "[learn]") {
  check_mlp({4, 3}, Activation::tanh);  // softmax regression
  check_mlp({4, 6, 3}, Activation::tanh);
  check_mlp({3, 5, 7, 4}, Activation::tanh);
  check_mlp({3, 5, 7, 4}, Activation::relu);
  check_mlp({1, 1, 2}, Activation::relu);
}

TEST_CASE("an LSTM's gradients are the slopes of its loss", "[learn]") {
  const SequenceShape one{.symbols = 5, .embedding = 3, .hidden = 4, .symbol_classes = 3};
  check_sequences({1}, one, false);
  check_sequences({6, 6}, one, false);
  check_sequences({6, 6}, one, true);
  SequenceShape two = one;
  two.layers = 2;
  two.sequence_classes = 3;
  check_sequences({5, 3, 3, 1}, two, false);
  two.layers = 3;
  check_sequences({4, 2, 1}, two, false);
}

TEST_CASE("sequences of unequal lengths do not touch each other", "[learn]") {
  SequenceShape shape{.symbols = 5,
                      .embedding = 3,
                      .hidden = 4,
                      .layers = 2,
                      .symbol_classes = 3,
                      .sequence_classes = 2,
                      .max_symbols = 9,
                      .max_sequences = 3};
  SequenceModel<double> model(shape, 3);
  Alone strategy;
  const SequenceBatch together = batch_of({5, 3, 1}, shape);
  const double all = model.forward(together, strategy).symbols.sum;
  double one_by_one = 0;
  for (std::size_t s = 0; s < 3; ++s) {
    const std::vector<std::size_t> length{together.packing.length(s)};
    SequenceBatch alone{Packing(length), {}, {}, {together.sequence_labels[s]}};
    for (std::size_t t = 0; t < length[0]; ++t) {
      alone.symbols.push_back(together.symbols[together.packing.row(s, t)]);
      alone.symbol_labels.push_back(together.symbol_labels[together.packing.row(s, t)]);
    }
    one_by_one += model.forward(alone, strategy).symbols.sum;
  }
  CHECK(one_by_one == Approx(all).epsilon(1e-12));
}

TEST_CASE("weights are given when backpropagation reads them no more", "[learn]") {
  const std::vector<std::size_t> widths{3, 5, 7, 4};
  const std::vector<std::uint32_t> labels{2};
  Mlp<double> mlp(widths, Activation::tanh, 1, 7);
  const SequenceShape shape{.symbols = 5,
                            .embedding = 3,
                            .hidden = 4,
                            .layers = 2,
                            .symbol_classes = 3,
                            .sequence_classes = 2,
                            .max_symbols = 9,
                            .max_sequences = 3};
  SequenceModel<double> sequences(shape, 3);
  const SequenceBatch batch = batch_of({5, 3, 1}, shape);
  Alone strategy;
  std::vector<std::vector<double>> expected_of_mlp, expected_of_sequences;
  for (const bool overwrites : {false, true}) {
    strategy.overwrites_values = overwrites;
    std::fill_n(mlp.input(1).row(0), 3, 0.5);
    mlp.forward(labels, 1, strategy);
    mlp.backward(strategy);
    sequences.forward(batch, strategy);
    sequences.backward(batch, strategy);
    if (overwrites) {
      CHECK(gradients_of(mlp.parameters()) == expected_of_mlp);
      CHECK(gradients_of(sequences.parameters()) == expected_of_sequences);
    }
    expected_of_mlp = gradients_of(mlp.parameters());
    expected_of_sequences = gradients_of(sequences.parameters());
  }
}

TEST_CASE("what is not finite is found in the first layer that has it", "[learn]") {
  const std::vector<std::size_t> widths{2, 3, 3, 2};
  for (const std::size_t broken : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    Mlp<double> mlp(widths, Activation::relu, 1, 1);
    Alone strategy;
    const MatrixView<double> x = mlp.input(1);
    x.row(0)[0] = x.row(0)[1] = 1;
    mlp.forward(std::vector<std::uint32_t>{1}, 1, strategy);
    CHECK(mlp.not_finite().empty());
    mlp.parameters()[broken]->value.elements()[0] = std::numeric_limits<double>::quiet_NaN();
    mlp.input(1).row(0)[0] = 1;
    CHECK_FALSE(std::isfinite(mlp.forward(std::vector<std::uint32_t>{1}, 1, strategy).sum));
    CHECK(mlp.not_finite() == mlp.parameters()[broken]->name);
  }
}

}  // namespace dsop::learn
