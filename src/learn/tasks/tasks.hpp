// The tasks that there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "learn/data/characters.hpp"
#include "learn/data/digits.hpp"
#include "learn/data/iob.hpp"
#include "learn/layers/activation.hpp"
#include "learn/tasks/task.hpp"

namespace dsop::learn {

struct MlpOptions {
  std::vector<std::size_t> hidden = {256};  ///< widths
  Activation activation = Activation::relu;
  std::uint64_t seed = 1;
};

/// A perceptron that tells digits apart. Without `test` the last fifth of `digits` is held out. Throws ArgumentError if
/// there are fewer samples than a step takes, or if the two sets' pictures differ in size.
PlannedTask plan_digits_task(Digits digits, std::optional<Digits> test, const Share& share, const MlpOptions& options);

struct LstmOptions {
  std::size_t embedding = 64;
  std::size_t hidden = 256;
  std::size_t layers = 1;
  std::size_t window = 64;  ///< characters of a sample; other tasks have sentences
  std::uint64_t seed = 1;
};

/// An LSTM that predicts the next character of a text. A sample is a window of the text's first nine tenths, in which
/// each character is to be predicted from those before it. The last tenth is held out: the loss is that of some equal
/// parts of it, each read from its start to its end. Throws ArgumentError if the text is too short.
PlannedTask plan_characters_task(CharacterText text, const Share& share, const LstmOptions& options);

/// An LSTM that finds the slots and the intent of queries, as those of ATIS. A sample is a sentence. The loss is the
/// mean of the words' plus the mean of the sentences'. Words that occur once in `training` are taken for unknown, as
/// those that occur only in `test`; an intent that occurs only there is counted as missed. Throws ArgumentError if
/// there are fewer sentences than a step takes, or none to test with.
PlannedTask plan_sentences_task(std::vector<TaggedSentence> training, std::vector<TaggedSentence> test,
                                const Share& share, const LstmOptions& options);

}  // namespace dsop::learn
