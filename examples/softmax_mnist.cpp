// Softmax regression on handwritten digits, trained by several ranks. Each rank computes on its share of a global
// batch, and dsop() sums the gradient over the ranks from its factors: (softmax - one-hot) and the pixels. Batches,
// their order and the first weights do not depend on the number of ranks, so neither do the losses, but for rounding:
// seven digits agree, five decimals are printed.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <dsop/dsop.hpp>

#include "launch/command_line.hpp"
#include "learn/data/drawn_digits.hpp"
#include "learn/data/idx.hpp"
#include "share.hpp"

namespace {

constexpr std::size_t classes = 10;
using Scores = std::array<float, classes>;

struct Settings {
  std::string folder;
  std::optional<int> ranks;
  int epochs = 20;
  std::size_t batch = 100;
  float learning_rate = 0.2F;
};

dsop::learn::Digits load_digits(const std::string& folder) {
  if (folder.empty()) return dsop::learn::draw_digits(10000, 1);
  dsop::learn::Digits digits = dsop::learn::read_digits(folder);
  if (digits.count() < 10)
    throw std::runtime_error(folder + ": has " + std::to_string(digits.count()) + " images, expected at least 10");
  return digits;
}

Scores softmax(dsop::MatrixView<const float> weights, const float* image) {
  Scores scores;
  for (std::size_t c = 0; c < classes; ++c)
    scores[c] = std::inner_product(image, image + weights.columns, weights.row(c), 0.0F);
  const float largest = *std::max_element(scores.begin(), scores.end());
  for (float& score : scores) score = std::exp(score - largest);
  const float sum = std::accumulate(scores.begin(), scores.end(), 0.0F);
  for (float& score : scores) score /= sum;
  return scores;
}

void train(dsop::Transport& transport, const Settings& settings) {
  examples::Share share;
  dsop::launch::on_all_ranks(transport, [&] {
    share = {load_digits(settings.folder), transport.rank(), transport.size()};
  });
  const std::size_t held_out = share.total() / 10;
  const std::size_t training = share.total() - held_out;
  if (transport.rank() == 0) {
    const std::string source = settings.folder.empty() ? "drawn by the program" : "from " + settings.folder;
    std::printf("# %zu digits %s, %zu of them held out for the test\n", share.total(), source.c_str(), held_out);
    std::printf("# ranks %d (%s), global batch %zu, learning rate %g\n", transport.size(), transport.name().c_str(),
                settings.batch, settings.learning_rate);
    std::printf("#epoch     loss  test_accuracy  seconds\n");
  }

  std::vector<float> weight_values(classes * share.features());
  std::vector<float> gradient_values(classes * share.features());
  std::vector<float> error_values;
  const dsop::MatrixView<float> weights(weight_values.data(), classes, share.features());
  const dsop::MatrixView<float> gradient(gradient_values.data(), classes, share.features());
  const auto start = std::chrono::steady_clock::now();

  for (int epoch = 1; epoch <= settings.epochs; ++epoch) {
    double loss = 0;
    for (std::size_t first = 0; first < training; first += settings.batch) {
      const std::size_t last = std::min(first + settings.batch, training);
      const auto images = share.images(first, last);
      const auto labels = share.labels(first, last);
      error_values.clear();
      for (std::size_t i = 0; i < images.rows; ++i) {
        Scores scores = softmax(weights, images.row(i));
        loss -= std::log(std::max(scores[labels[i]], std::numeric_limits<float>::min()));
        scores[labels[i]] -= 1;
        error_values.insert(error_values.end(), scores.begin(), scores.end());
      }
      const dsop::MatrixView<const float> errors(error_values.data(), images.rows, classes);
      dsop::dsop(transport, {errors, images}, gradient, {.scale = 1.0 / static_cast<double>(last - first)});
      for (std::size_t i = 0; i < weight_values.size(); ++i)
        weight_values[i] -= settings.learning_rate * gradient_values[i];
    }

    double correct = 0;
    const auto images = share.images(training, share.total());
    const auto labels = share.labels(training, share.total());
    for (std::size_t i = 0; i < images.rows; ++i) {
      const Scores scores = softmax(weights, images.row(i));
      if (std::max_element(scores.begin(), scores.end()) - scores.begin() == labels[i]) ++correct;
    }

    // Sums over ranks of a few numbers are an outer product too: of (loss, correct) and 1.
    const std::array<double, 2> own{loss, correct};
    const double one = 1;
    std::array<double, 2> sums{};
    dsop::dsop(transport, {{own.data(), 1, 2}, {&one, 1, 1}}, dsop::MatrixView<double>(sums.data(), 2, 1));
    const double mean_loss = sums[0] / static_cast<double>(training);
    dsop::launch::on_all_ranks(transport, [&] {
      if (!std::isfinite(mean_loss))
        throw std::runtime_error("--learning-rate is " + std::to_string(settings.learning_rate) +
                                 ", expected a smaller one: the loss is not finite any more");
    });
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (transport.rank() == 0) {
      std::printf("%6d  %7.5f  %13.3f  %7.2f\n", epoch, mean_loss, sums[1] / static_cast<double>(held_out),
                  elapsed.count());
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Softmax regression on handwritten digits whose gradient is summed over ranks by dsop()");
  app.option_defaults()->always_capture_default();
  app.add_option("folder", settings.folder, "Holds MNIST's files (IDX, gzip'd or not); without it digits are drawn");
  app.add_option("--ranks", settings.ranks, "Threads of this process (4); under mpirun its number of processes")
      ->check(CLI::Range(1, 64));
  app.add_option("--epochs", settings.epochs, "Passes over the training images")->check(CLI::Range(1, 1000000));
  app.add_option("--batch", settings.batch, "Images a step, over all ranks")->check(CLI::Range(1, 1000000));
  app.add_option("--learning-rate", settings.learning_rate, "Length of a step")->check(CLI::Range(1e-6, 1e3));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return dsop::launch::end_of(app, error);
  }
  return dsop::launch::run({.ranks = settings.ranks}, 4,
                           [&](dsop::Transport& transport) { train(transport, settings); });
}
