// An LSTM that predicts the next character of a text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "learn/data/characters.hpp"
#include "learn/tasks/task.hpp"

namespace dsop::learn {

struct LstmOptions {
  std::size_t embedding = 64;
  std::size_t hidden = 256;
  std::size_t layers = 1;
  std::size_t window = 64;  ///< characters of a sample; other tasks have sentences
  std::uint64_t seed = 1;
};

/// A sample is a window of the text's first nine tenths, in which each character is to be predicted from those before
/// it. The last tenth is held out: the loss is that of some equal parts of it, each read from its start to its end.
/// Throws ArgumentError if the text is too short.
PlannedTask plan_characters_task(CharacterText text, const Share& share, const LstmOptions& options);

}  // namespace dsop::learn
