#include "learn/tasks/tasks.hpp"

#include <algorithm>

#include <dsop/errors.hpp>

#include "learn/models/mlp.hpp"
#include "learn/tasks/order.hpp"
#include "patterns/blocks.hpp"

namespace dsop::learn {
namespace {

constexpr std::size_t classes = 10;

/// The last fifth, taken away from `digits`.
Digits take_last_fifth(Digits& digits) {
  const std::size_t kept = digits.count() - digits.count() / 5;
  const auto pixels = static_cast<std::ptrdiff_t>(kept * digits.rows * digits.columns);
  Digits last{digits.rows, digits.columns, {}, {}};
  last.pixels.assign(digits.pixels.begin() + pixels, digits.pixels.end());
  last.labels.assign(digits.labels.begin() + static_cast<std::ptrdiff_t>(kept), digits.labels.end());
  digits.pixels.resize(static_cast<std::size_t>(pixels));
  digits.labels.resize(kept);
  return last;
}

std::vector<std::size_t> widths_of(const Digits& digits, const std::vector<std::size_t>& hidden) {
  std::vector<std::size_t> widths{digits.rows * digits.columns};
  widths.insert(widths.end(), hidden.begin(), hidden.end());
  widths.push_back(classes);
  return widths;
}

std::string data_identity_of(const Digits& digits) {
  return data_identity({std::as_bytes(std::span(digits.pixels)), std::as_bytes(std::span(digits.labels))});
}

std::string description_of(const Digits& training, const MlpOptions& options) {
  std::string text = "mlp";
  for (const std::size_t width : widths_of(training, options.hidden))
    text.append(text == "mlp" ? " " : "-").append(std::to_string(width));
  return text + (options.activation == Activation::relu ? " relu, " : " tanh, ") + std::to_string(training.count()) +
         " samples, " + data_identity_of(training);
}

constexpr std::size_t pictures_at_once = 256;

class DigitsTask final : public Task {
 public:
  DigitsTask(Digits training, Digits held_out, const Share& share, const MlpOptions& options)
      : Task({description_of(training, options), data_identity_of(held_out)}),
        training_(std::move(training)),
        held_out_(std::move(held_out)),
        share_(share),
        model_(widths_of(training_, options.hidden), options.activation, share.per_rank, options.seed),
        order_(training_.count(), options.seed) {}

  std::vector<Parameter<float>*> parameters() override { return model_.parameters(); }
  std::size_t steps_per_epoch() const override { return training_.count() / share_.batch(); }
  std::size_t samples_per_step() const override { return share_.batch(); }

  double forward(std::size_t epoch, std::size_t step, Strategy<float>& strategy) override {
    const std::span<const std::size_t> order = order_.of(epoch);
    const double weight = 1 / static_cast<double>(share_.batch());
    fill(training_, order.subspan(share_.first(step), share_.per_rank));
    return weight * model_.forward(labels_, weight, strategy).sum;
  }
  void backward(Strategy<float>& strategy) override { model_.backward(strategy); }

  Scores evaluate(Transport& transport, Strategy<float>& strategy) override {
    const patterns::Blocks blocks(held_out_.count(), transport.size());
    const std::size_t last = blocks.offset(transport.rank() + 1);
    Loss loss;
    std::vector<std::size_t> places;
    for (std::size_t first = blocks.offset(transport.rank()); first < last; first += pictures_at_once) {
      places.resize(std::min(pictures_at_once, last - first));
      std::iota(places.begin(), places.end(), first);
      fill(held_out_, places);
      loss += model_.forward(labels_, 1, strategy);
    }
    const auto sums = sums_over_ranks<2>(transport, {loss.sum, static_cast<double>(loss.correct)});
    const auto count = static_cast<double>(held_out_.count());
    return {{"held_out_loss", sums[0] / count}, {"accuracy", sums[1] / count}};
  }

  std::string not_finite() override { return model_.not_finite(); }

 private:
  void fill(const Digits& digits, std::span<const std::size_t> places) {
    const MatrixView<float> x = model_.input(places.size());
    labels_.clear();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint8_t* const picture = digits.pixels.data() + places[i] * x.columns;
      std::transform(picture, picture + x.columns, x.row(i),
                     [](std::uint8_t ink) { return static_cast<float>(ink) / 255; });
      labels_.push_back(digits.labels[places[i]]);
    }
  }

  Digits training_;
  Digits held_out_;
  Share share_;
  Mlp<float> model_;
  EpochOrder order_;
  std::vector<std::uint32_t> labels_;
};

}  // namespace

PlannedTask plan_digits_task(Digits digits, std::optional<Digits> test, const Share& share, const MlpOptions& options) {
  Digits held_out = test ? std::move(*test) : take_last_fifth(digits);
  if (held_out.rows != digits.rows || held_out.columns != digits.columns)
    throw ArgumentError("the test set's pictures are " + std::to_string(held_out.rows) + " x " +
                        std::to_string(held_out.columns) + ", expected " + std::to_string(digits.rows) + " x " +
                        std::to_string(digits.columns) + " as in the training set");
  if (held_out.count() == 0) throw ArgumentError("there are too few samples to hold any out, expected at least 5");
  check_samples(digits.count(), share);
  const std::size_t evaluated = std::min(pictures_at_once, share_of_largest(held_out.count(), share));
  const ModelSize size = Mlp<float>::size_of(widths_of(digits, options.hidden), std::max(share.per_rank, evaluated));
  return {size, [digits = std::move(digits), held_out = std::move(held_out), share, options]() mutable {
            return std::make_unique<DigitsTask>(std::move(digits), std::move(held_out), share, options);
          }};
}

}  // namespace dsop::learn
