// An LSTM that finds the slots and the intent of queries, as those of ATIS.
#pragma once

#include <vector>

#include "learn/data/iob.hpp"
#include "learn/tasks/characters.hpp"
#include "learn/tasks/task.hpp"

namespace dsop::learn {

/// A sample is a sentence. The loss is the mean of the words' plus the mean of the sentences'. Words that occur once in
/// `training` are taken for unknown, as those that occur only in `test`; an intent that occurs only there is counted as
/// missed. Throws ArgumentError if there are fewer sentences than a step takes, or none to test with.
PlannedTask plan_sentences_task(std::vector<TaggedSentence> training, std::vector<TaggedSentence> test,
                                const Share& share, const LstmOptions& options);

}  // namespace dsop::learn
