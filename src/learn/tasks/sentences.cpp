#include "learn/tasks/tasks.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include <dsop/errors.hpp>

#include "learn/models/sequence_model.hpp"
#include "learn/tasks/chunks.hpp"
#include "learn/tasks/order.hpp"
#include "patterns/blocks.hpp"

namespace dsop::learn {
namespace {

constexpr const char* unknown = "<unknown>";
constexpr std::uint32_t no_class = UINT32_MAX;

struct Sentence {
  std::vector<std::uint32_t> words;
  std::vector<std::uint32_t> tags;  // one for each word; the last is O: the format has the intent in its place
  std::uint32_t intent = 0;
};

/// Numbers names in the order in which they were added.
class Names {
 public:
  std::uint32_t add(const std::string& name) {
    const auto [place, is_new] = numbers_.emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return place->second;
  }
  /// `otherwise` for a name that was not added.
  std::uint32_t number(const std::string& name, std::uint32_t otherwise) const {
    const auto place = numbers_.find(name);
    return place == numbers_.end() ? otherwise : place->second;
  }
  const std::string& name(std::size_t number) const { return names_[number]; }
  std::size_t count() const { return names_.size(); }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> names_;
};

struct Vocabulary {
  Names words;
  Names tags;
  Names intents;

  explicit Vocabulary(const std::vector<TaggedSentence>& sentences) {
    std::map<std::string, std::size_t> counts;
    for (const TaggedSentence& sentence : sentences)
      for (const std::string& word : sentence.words) ++counts[word];
    words.add(unknown);
    tags.add("O");
    for (const TaggedSentence& sentence : sentences) {
      for (const std::string& word : sentence.words)
        if (counts[word] > 1) words.add(word);
      for (const std::string& tag : sentence.tags) tags.add(tag);
      intents.add(sentence.intent);
    }
  }

  Sentence numbered(const TaggedSentence& sentence) const {
    Sentence numbers;
    for (const std::string& word : sentence.words) numbers.words.push_back(words.number(word, 0));
    for (const std::string& tag : sentence.tags) numbers.tags.push_back(tags.number(tag, 0));
    numbers.tags.push_back(0);
    numbers.intent = intents.number(sentence.intent, no_class);
    return numbers;
  }
};

std::string data_identity_of(const std::vector<TaggedSentence>& sentences) {
  std::string text;
  for (const TaggedSentence& sentence : sentences) {
    for (const std::string& word : sentence.words) text.append(word).append(" ");
    for (const std::string& tag : sentence.tags) text.append(tag).append(" ");
    text.append(sentence.intent).append("\n");
  }
  return data_identity({std::as_bytes(std::span(text))});
}

std::string description_of(const std::vector<TaggedSentence>& training, const Vocabulary& vocabulary,
                           const LstmOptions& options) {
  return "lstm atis, embedding " + std::to_string(options.embedding) + ", hidden " + std::to_string(options.hidden) +
         ", layers " + std::to_string(options.layers) + ", " + std::to_string(training.size()) + " sentences of " +
         std::to_string(vocabulary.words.count()) + " words, " + std::to_string(vocabulary.tags.count()) + " tags, " +
         std::to_string(vocabulary.intents.count()) + " intents, " + data_identity_of(training);
}

std::size_t longest(const std::vector<Sentence>& sentences) {
  std::size_t length = 0;
  for (const Sentence& sentence : sentences) length = std::max(length, sentence.words.size());
  return length;
}

template <class AnySentence>
std::size_t mean_length(const std::vector<AnySentence>& sentences) {
  std::size_t words = 0;
  for (const AnySentence& sentence : sentences) words += sentence.words.size();
  return words / sentences.size();
}

/// For a step of `share` whose sentences have so many words.
SequenceShape shape_of(const Vocabulary& vocabulary, std::size_t words, const Share& share,
                       const LstmOptions& options) {
  return {.symbols = vocabulary.words.count(),
          .embedding = options.embedding,
          .hidden = options.hidden,
          .layers = options.layers,
          .symbol_classes = vocabulary.tags.count(),
          .sequence_classes = vocabulary.intents.count(),
          .max_symbols = share.per_rank * words,
          .max_sequences = share.per_rank};
}

constexpr std::size_t sentences_at_once = 64;

class SentencesTask final : public Task {
 public:
  SentencesTask(Vocabulary vocabulary, const std::vector<TaggedSentence>& training,
                const std::vector<TaggedSentence>& test, const Share& share, const LstmOptions& options)
      : Task({description_of(training, vocabulary, options), data_identity_of(test)}),
        vocabulary_(std::move(vocabulary)),
        training_(numbered(training)),
        test_(numbered(test)),
        test_tags_(test),
        share_(share),
        model_(shape_of(vocabulary_, longest(training_), share, options), options.seed),
        order_(training_.size(), options.seed) {
    for (Parameter<float>* const p : model_.parameters())  // those of sentences have one pair for each
      if (p->max_pairs > share.per_rank) p->expected_pairs = share.per_rank * mean_length(training_);
  }

  std::vector<Parameter<float>*> parameters() override { return model_.parameters(); }
  std::size_t steps_per_epoch() const override { return training_.size() / share_.batch(); }
  std::size_t samples_per_step() const override { return share_.batch(); }

  double forward(std::size_t epoch, std::size_t step, Strategy<float>& strategy) override {
    const std::span<const std::size_t> order = order_.of(epoch);
    std::size_t words = 0;  // of all ranks' sentences
    for (const std::size_t place : order.subspan(step * share_.batch(), share_.batch()))
      words += training_[place].words.size();
    batch_ = batch_of(training_, order.subspan(share_.first(step), share_.per_rank));
    batch_.symbol_weight = 1 / static_cast<double>(words);
    batch_.sequence_weight = 1 / static_cast<double>(share_.batch());
    const SequenceLoss loss = model_.forward(batch_, strategy);
    return batch_.symbol_weight * loss.symbols.sum + batch_.sequence_weight * loss.sequences.sum;
  }
  void backward(Strategy<float>& strategy) override { model_.backward(batch_, strategy); }

  Scores evaluate(Transport& transport, Strategy<float>& strategy) override {
    const patterns::Blocks blocks(test_.size(), transport.size());
    const std::size_t last = blocks.offset(transport.rank() + 1);
    ChunkCounts chunks;
    std::size_t intents = 0;
    for (std::size_t first = blocks.offset(transport.rank()); first < last; first += sentences_at_once) {
      std::vector<std::size_t> places(std::min(sentences_at_once, last - first));
      std::iota(places.begin(), places.end(), first);
      intents += classify(places, strategy, chunks);
    }
    const auto sums =
        sums_over_ranks<4>(transport, {static_cast<double>(chunks.true_ones), static_cast<double>(chunks.found),
                                       static_cast<double>(chunks.correct), static_cast<double>(intents)});
    return {{"slot_f1", f1(sums[0], sums[1], sums[2])},
            {"intent_accuracy", sums[3] / static_cast<double>(test_.size())}};
  }

  std::string not_finite() override { return model_.not_finite(); }

 private:
  std::vector<Sentence> numbered(const std::vector<TaggedSentence>& sentences) const {
    std::vector<Sentence> numbers;
    for (const TaggedSentence& sentence : sentences) numbers.push_back(vocabulary_.numbered(sentence));
    return numbers;
  }

  /// Sorts `places` by length, the longest first.
  SequenceBatch batch_of(const std::vector<Sentence>& sentences, std::span<const std::size_t> in_order) {
    places_.assign(in_order.begin(), in_order.end());
    std::stable_sort(places_.begin(), places_.end(), [&](std::size_t a, std::size_t b) {
      return sentences[a].words.size() > sentences[b].words.size();
    });
    std::vector<std::size_t> lengths;
    for (const std::size_t place : places_) lengths.push_back(sentences[place].words.size());
    SequenceBatch batch{.packing = Packing(lengths), .symbols = {}, .symbol_labels = {}};
    for (std::size_t t = 0; t < batch.packing.steps(); ++t)
      for (std::size_t s = 0; s < batch.packing.active(t); ++s) {
        batch.symbols.push_back(sentences[places_[s]].words[t]);
        batch.symbol_labels.push_back(sentences[places_[s]].tags[t]);
      }
    for (const std::size_t place : places_) batch.sequence_labels.push_back(sentences[place].intent);
    return batch;
  }

  /// Adds the chunks of some sentences of the test; returns how many of their intents were right.
  std::size_t classify(std::span<const std::size_t> places, Strategy<float>& strategy, ChunkCounts& chunks) {
    std::vector<std::uint32_t> tags, intents;
    const SequenceBatch batch = batch_of(test_, places);
    model_.classify(batch, strategy, tags, intents);
    std::size_t correct = 0;
    for (std::size_t s = 0; s < places_.size(); ++s) {
      const std::vector<std::string>& true_tags = test_tags_[places_[s]].tags;
      std::vector<std::string> found;
      for (std::size_t t = 0; t < true_tags.size(); ++t)
        found.push_back(vocabulary_.tags.name(tags[batch.packing.row(s, t)]));
      chunks.add(true_tags, found);
      correct += intents[s] == test_[places_[s]].intent ? 1 : 0;
    }
    return correct;
  }

  Vocabulary vocabulary_;
  std::vector<Sentence> training_;
  std::vector<Sentence> test_;
  std::vector<TaggedSentence> test_tags_;  // some tags may have no number
  Share share_;
  SequenceModel<float> model_;
  EpochOrder order_;
  std::vector<std::size_t> places_;  // of the sentences of the batch that was made last
  SequenceBatch batch_{.packing = Packing({}), .symbols = {}, .symbol_labels = {}};
};

}  // namespace

PlannedTask plan_sentences_task(std::vector<TaggedSentence> training, std::vector<TaggedSentence> test,
                                const Share& share, const LstmOptions& options) {
  check_samples(training.size(), share);
  if (test.empty()) throw ArgumentError("there are no sentences to test with");
  Vocabulary vocabulary(training);
  Share largest = share;
  largest.per_rank = std::max(share.per_rank, std::min(sentences_at_once, share_of_largest(test.size(), share)));
  const ModelSize size = SequenceModel<float>::size_of(shape_of(vocabulary, mean_length(training), largest, options));
  return {size, [vocabulary = std::move(vocabulary), training = std::move(training), test = std::move(test), share,
                 options]() mutable {
            return std::make_unique<SentencesTask>(std::move(vocabulary), training, test, share, options);
          }};
}

}  // namespace dsop::learn
