// A stack of LSTM layers between an embedding and one or two classifiers: of each symbol, and of whole sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "learn/layers/embedding.hpp"
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
  SequenceModel(const SequenceShape& shape, std::uint64_t seed);

  static ModelSize size_of(const SequenceShape& shape);

  std::vector<Parameter<T>*> parameters();
  /// A state of zeros for each layer, for sequences that go on from one forward() to the next.
  std::vector<LstmState<T>> initial_states(std::size_t sequences) const;

  /// The batch stays the caller's until the end of the step. States: see Lstm::forward(); empty: all start with zeros.
  SequenceLoss forward(const SequenceBatch& batch, Strategy<T>& strategy, std::span<LstmState<T>> states = {});
  void backward(const SequenceBatch& batch, Strategy<T>& strategy);

  /// The classes with the highest scores, instead of a loss; labels play no part.
  void classify(const SequenceBatch& batch, Strategy<T>& strategy, std::vector<std::uint32_t>& of_symbols,
                std::vector<std::uint32_t>& of_sequences);

  /// As Mlp::not_finite().
  std::string not_finite();

 private:
  void forward_to_scores(const SequenceBatch& batch, Strategy<T>& strategy, std::span<LstmState<T>> states);
  bool has_sequence_classes() const { return sequence_classifier_.has_value(); }

  Embedding<T> embedding_;
  std::vector<Lstm<T>> layers_;
  FullyConnected<T> symbol_classifier_;
  std::optional<FullyConnected<T>> sequence_classifier_;
  Matrix<T> sequence_error_;  // of the outputs after each sequence's last symbol
};

}  // namespace dsop::learn
