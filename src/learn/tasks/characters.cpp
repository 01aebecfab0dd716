#include "learn/tasks/tasks.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <dsop/errors.hpp>

#include "learn/models/sequence_model.hpp"
#include "learn/tasks/order.hpp"
#include "patterns/blocks.hpp"

namespace dsop::learn {
namespace {

/// One hash of the whole text, its end, which is held out, with it.
TaskIdentity identity_of(const CharacterText& text, const LstmOptions& options) {
  const std::string data =
      data_identity({std::as_bytes(std::span(text.alphabet)), std::as_bytes(std::span(text.characters))});
  return {"lstm characters, embedding " + std::to_string(options.embedding) + ", hidden " +
              std::to_string(options.hidden) + ", layers " + std::to_string(options.layers) + ", window " +
              std::to_string(options.window) + ", text of " + std::to_string(text.characters.size()) + " characters, " +
              std::to_string(text.alphabet.size()) + " different, " + data,
          data};
}

SequenceShape shape_of(const CharacterText& text, const Share& share, const LstmOptions& options) {
  return {.symbols = text.alphabet.size(),
          .embedding = options.embedding,
          .hidden = options.hidden,
          .layers = options.layers,
          .symbol_classes = text.alphabet.size(),
          .max_symbols = share.per_rank * options.window,
          .max_sequences = share.per_rank};
}

/// Of what is held out: so many are evaluated side by side.
std::size_t parts_of(std::size_t characters) {
  return std::clamp<std::size_t>(characters / 1024, 1, 64);
}

/// So many that the last one, and the character after it, are there wherever the first one starts.
std::size_t windows_in(std::size_t characters, std::size_t window) {
  return (characters - 1) / window - 1;
}

class CharactersTask final : public Task {
 public:
  CharactersTask(CharacterText text, const Share& share, const LstmOptions& options)
      : Task(identity_of(text, options)),
        text_(std::move(text)),
        training_(text_.characters.size() - text_.characters.size() / 10),
        share_(share),
        options_(options),
        model_(shape_of(text_, share, options), options.seed),
        order_(windows(), options.seed) {}

  std::vector<Parameter<float>*> parameters() override { return model_.parameters(); }
  std::size_t steps_per_epoch() const override { return windows() / share_.batch(); }
  std::size_t samples_per_step() const override { return share_.batch(); }

  double forward(std::size_t epoch, std::size_t step, Strategy<float>& strategy) override {
    const std::span<const std::size_t> order = order_.of(epoch);
    // Windows start elsewhere in each epoch.
    const std::size_t offset = mix(options_.seed + epoch) % options_.window;
    std::vector<std::size_t> starts;
    for (const std::size_t w : order.subspan(share_.first(step), share_.per_rank))
      starts.push_back(offset + w * options_.window);
    batch_ = batch_of(starts, options_.window);
    batch_.symbol_weight = 1 / static_cast<double>(share_.batch() * options_.window);
    return batch_.symbol_weight * model_.forward(batch_, strategy).symbols.sum;
  }
  void backward(Strategy<float>& strategy) override { model_.backward(batch_, strategy); }

  Scores evaluate(Transport& transport, Strategy<float>& strategy) override {
    const std::size_t held_out = text_.characters.size() - training_ - 1;  // characters that are predicted
    const std::size_t parts = parts_of(held_out);
    const std::size_t length = held_out / parts;
    const patterns::Blocks blocks(parts, transport.size());
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < blocks.size(transport.rank()); ++i)
      starts.push_back(training_ + (blocks.offset(transport.rank()) + i) * length);

    Loss loss;
    std::vector<LstmState<float>> states = model_.initial_states(starts.size());
    for (std::size_t done = 0; done < length && !starts.empty(); done += options_.window) {
      const std::size_t window = std::min(options_.window, length - done);
      loss += model_.forward(batch_of(starts, window), strategy, states).symbols;
      for (std::size_t& start : starts) start += window;
    }
    const auto sums = sums_over_ranks<2>(transport, {loss.sum, static_cast<double>(loss.correct)});
    const auto count = static_cast<double>(parts * length);
    return {{"held_out_loss", sums[0] / count}, {"accuracy", sums[1] / count}};
  }

  std::string not_finite() override { return model_.not_finite(); }

 private:
  std::size_t windows() const { return windows_in(training_, options_.window); }

  SequenceBatch batch_of(std::span<const std::size_t> starts, std::size_t window) const {
    const std::vector<std::size_t> lengths(starts.size(), window);
    SequenceBatch batch{.packing = Packing(lengths), .symbols = {}, .symbol_labels = {}};
    for (std::size_t t = 0; t < window; ++t)
      for (const std::size_t start : starts) {
        batch.symbols.push_back(text_.characters[start + t]);
        batch.symbol_labels.push_back(text_.characters[start + t + 1]);
      }
    return batch;
  }

  CharacterText text_;
  std::size_t training_;  // characters
  Share share_;
  LstmOptions options_;
  SequenceModel<float> model_;
  EpochOrder order_;
  SequenceBatch batch_{.packing = Packing({}), .symbols = {}, .symbol_labels = {}};
};

}  // namespace

PlannedTask plan_characters_task(CharacterText text, const Share& share, const LstmOptions& options) {
  const std::size_t count = text.characters.size(), training = count - count / 10;
  if (training < 3 * options.window || count - training < 2)
    throw ArgumentError("the text has " + std::to_string(count) + " characters, too few for windows of " +
                        std::to_string(options.window));
  check_samples(windows_in(training, options.window), share);
  Share largest = share;
  largest.per_rank = std::max(share.per_rank, share_of_largest(parts_of(count - training - 1), share));
  const ModelSize size = SequenceModel<float>::size_of(shape_of(text, largest, options));
  return {size, [text = std::move(text), share, options]() mutable {
            return std::make_unique<CharactersTask>(std::move(text), share, options);
          }};
}

}  // namespace dsop::learn
