// A stack of LSTM layers between an embedding and one or two classifiers: of each symbol, and of whole sequences.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "learn/layers/embedding.hpp"
#include "learn/layers/finite.hpp"
#include "learn/layers/fully_connected.hpp"
#include "learn/layers/lstm.hpp"
#include "learn/layers/packing.hpp"
#include "learn/layers/softmax_cross_entropy.hpp"
#include "learn/strategies/strategy.hpp"

namespace dsop::learn {

struct SequenceShape {
  std::size_t symbols = 0;
  std::size_t embedding = 0;  ///< width of a symbol's vector
  std::size_t hidden = 0;     ///< width of each LSTM layer
  std::size_t layers = 1;
  std::size_t symbol_classes = 0;    ///< of which each symbol has one
  std::size_t sequence_classes = 0;  ///< of which each sequence has one; 0: it has none
  std::size_t max_symbols = 0;       ///< of a step
  std::size_t max_sequences = 0;     ///< of a step
};

/// What a step learns from, packed: `symbols` and `symbol_labels` have a number for each row, `sequence_labels` for
/// each sequence. A label's loss is multiplied by its weight.
struct SequenceBatch {
  Packing packing;
  std::vector<std::uint32_t> symbols;
  std::vector<std::uint32_t> symbol_labels;
  std::vector<std::uint32_t> sequence_labels = {};
  double symbol_weight = 1;
  double sequence_weight = 1;
};

struct SequenceLoss {
  Loss symbols;
  Loss sequences;
};

template <class T>
class SequenceModel {
 public:
  SequenceModel(const SequenceShape& shape, std::uint64_t seed)
      : embedding_("embedding", shape.symbols, shape.embedding, shape.max_symbols),
        symbol_classifier_("symbol-classes", shape.hidden, shape.symbol_classes, shape.max_symbols) {
    embedding_.draw_weights(seed);
    for (std::size_t l = 0; l < shape.layers; ++l) {
      const std::size_t inputs = l == 0 ? shape.embedding : shape.hidden;
      layers_.emplace_back("lstm" + std::to_string(l + 1), inputs, shape.hidden, shape.max_symbols);
      layers_.back().draw_weights(seed);
    }
    symbol_classifier_.draw_weights(seed);
    if (shape.sequence_classes > 0) {
      sequence_classifier_.emplace("sequence-classes", shape.hidden, shape.sequence_classes, shape.max_sequences);
      sequence_classifier_->draw_weights(seed);
    }
  }

  static ModelSize size_of(const SequenceShape& shape) {
    ModelSize size = Embedding<T>::size_of(shape.symbols, shape.embedding, shape.max_symbols);
    for (std::size_t l = 0; l < shape.layers; ++l)
      size += Lstm<T>::size_of(l == 0 ? shape.embedding : shape.hidden, shape.hidden, shape.max_symbols);
    size += FullyConnected<T>::size_of(shape.hidden, shape.symbol_classes, shape.max_symbols);
    if (shape.sequence_classes > 0)
      size += FullyConnected<T>::size_of(shape.hidden, shape.sequence_classes, shape.max_sequences);
    return size;
  }

  std::vector<Parameter<T>*> parameters() {
    std::vector<Parameter<T>*> parameters{&embedding_.weights};
    for (Lstm<T>& layer : layers_) parameters.push_back(&layer.weights);
    parameters.push_back(&symbol_classifier_.weights);
    if (has_sequence_classes()) parameters.push_back(&sequence_classifier_->weights);
    return parameters;
  }
  /// A state of zeros for each layer, for sequences that go on from one forward() to the next.
  std::vector<LstmState<T>> initial_states(std::size_t sequences) const {
    const std::size_t hidden = layers_.front().weights.value.columns() / 4;
    return std::vector<LstmState<T>>(layers_.size(), {Matrix<T>(sequences, hidden), Matrix<T>(sequences, hidden)});
  }

  /// The batch stays the caller's until the end of the step. States: see Lstm::forward(); empty: all start with zeros.
  SequenceLoss forward(const SequenceBatch& batch, Strategy<T>& strategy, std::span<LstmState<T>> states = {}) {
    forward_to_scores(batch, strategy, states);
    SequenceLoss loss;
    loss.symbols = softmax_cross_entropy(symbol_classifier_.error(), batch.symbol_labels, batch.symbol_weight);
    if (has_sequence_classes())
      loss.sequences =
          softmax_cross_entropy(sequence_classifier_->error(), batch.sequence_labels, batch.sequence_weight);
    return loss;
  }
  void backward(const SequenceBatch& batch, Strategy<T>& strategy) {
    // Each give() is where dsop enters: what was given travels while the layers below are still at work. It may be
    // added to the weights at once, so it is given when nothing reads them any more.
    const MatrixView<T> top_error = layers_.back().output_error();
    if (has_sequence_classes()) {
      sequence_error_.resize(batch.packing.sequences(), top_error.columns);
      sequence_classifier_->backward(sequence_error_.view());
      strategy.give(sequence_classifier_->weights, sequence_classifier_->factors());
    }
    symbol_classifier_.backward(top_error);
    strategy.give(symbol_classifier_.weights, symbol_classifier_.factors());
    for (std::size_t s = 0; has_sequence_classes() && s < batch.packing.sequences(); ++s)
      for (std::size_t j = 0; j < top_error.columns; ++j)
        top_error.row(batch.packing.last_row(s))[j] += sequence_error_.view().row(s)[j];
    for (std::size_t l = layers_.size(); l-- > 0;) {
      layers_[l].backward(batch.packing);
      layers_[l].input_error(l > 0 ? layers_[l - 1].output_error() : embedding_.error());
      strategy.give(layers_[l].weights, layers_[l].factors());
    }
    strategy.give(embedding_.weights, embedding_.factors());
  }

  /// The classes with the highest scores, instead of a loss; labels play no part.
  void classify(const SequenceBatch& batch, Strategy<T>& strategy, std::vector<std::uint32_t>& of_symbols,
                std::vector<std::uint32_t>& of_sequences) {
    forward_to_scores(batch, strategy, {});
    best_classes(symbol_classifier_.error(), of_symbols);
    of_sequences.clear();
    if (has_sequence_classes()) best_classes(sequence_classifier_->error(), of_sequences);
  }

  /// As Mlp::not_finite().
  std::string not_finite() {
    if (!all_finite<T>(layers_.front().input())) return embedding_.weights.name;
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l)
      if (!all_finite<T>(layers_[l + 1].input())) return layers_[l].weights.name;
    if (!all_finite<T>(symbol_classifier_.input())) return layers_.back().weights.name;
    if (!all_finite<T>(symbol_classifier_.error())) return symbol_classifier_.weights.name;
    if (has_sequence_classes() && !all_finite<T>(sequence_classifier_->error()))
      return sequence_classifier_->weights.name;
    return "";
  }

 private:
  void forward_to_scores(const SequenceBatch& batch, Strategy<T>& strategy, std::span<LstmState<T>> states) {
    embedding_.prepare(batch.symbols);
    for (Lstm<T>& layer : layers_) layer.prepare(batch.packing.rows());
    symbol_classifier_.prepare(batch.packing.rows());

    strategy.need(embedding_.weights);
    embedding_.forward(layers_.front().input());
    const MatrixView<T> top = symbol_classifier_.input();
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      strategy.need(layers_[l].weights);
      layers_[l].forward(batch.packing, l + 1 < layers_.size() ? layers_[l + 1].input() : top,
                         states.empty() ? nullptr : &states[l]);
    }
    strategy.need(symbol_classifier_.weights);
    symbol_classifier_.forward(symbol_classifier_.error());

    if (!has_sequence_classes()) return;
    sequence_classifier_->prepare(batch.packing.sequences());
    for (std::size_t s = 0; s < batch.packing.sequences(); ++s)
      std::copy_n(top.row(batch.packing.last_row(s)), top.columns, sequence_classifier_->input().row(s));
    strategy.need(sequence_classifier_->weights);
    sequence_classifier_->forward(sequence_classifier_->error());
  }
  static void best_classes(MatrixView<T> scores, std::vector<std::uint32_t>& classes) {
    classes.clear();
    for (std::size_t i = 0; i < scores.rows; ++i)
      classes.push_back(static_cast<std::uint32_t>(best_class<T>({scores.row(i), scores.columns})));
  }
  bool has_sequence_classes() const { return sequence_classifier_.has_value(); }

  Embedding<T> embedding_;
  std::vector<Lstm<T>> layers_;
  FullyConnected<T> symbol_classifier_;
  std::optional<FullyConnected<T>> sequence_classifier_;
  Matrix<T> sequence_error_;  // of the outputs after each sequence's last symbol
};

}  // namespace dsop::learn
