// What training is made of, piece by piece.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <dsop/counting.hpp>
#include <dsop/threads.hpp>

#include "../failures.hpp"
#include "call/same_bits.hpp"
#include "learn/layers/packing.hpp"
#include "learn/layers/parameter.hpp"
#include "learn/layers/softmax_cross_entropy.hpp"
#include "learn/models/mlp.hpp"
#include "learn/models/sequence_model.hpp"
#include "learn/optimizers/optimizer.hpp"
#include "learn/stopwatch.hpp"
#include "learn/strategies/schedules.hpp"
#include "learn/tasks/chunks.hpp"
#include "learn/tasks/order.hpp"

namespace dsop::learn {
namespace {

std::size_t correct(const std::vector<std::string>& truth, const std::vector<std::string>& found) {
  ChunkCounts counts;
  counts.add(truth, found);
  return counts.correct;
}

/// Stands for an MPI library whose sums differ by rank as much as they can: each is the rank's number.
class DifferingSums final : public TransportOver, private NativeCollectives {
 public:
  explicit DifferingSums(Transport& inner)
      : TransportOver(inner, {inner.rank(), inner.size(), inner.node(), inner.endpoint().kind, this}) {}

 private:
  void allreduce(std::span<std::byte> data, DataType) override {
    const std::vector<float> sum(data.size() / sizeof(float), static_cast<float>(rank()));
    std::memcpy(data.data(), sum.data(), data.size());
  }
  void broadcast(std::span<std::byte> data, int root) override {
    if (rank() != root) {
      recv(data, root);
      return;
    }
    for (int r = 0; r < size(); ++r)
      if (r != root) send(data, r);
  }
  void allgather(std::span<std::byte>, std::span<const std::size_t>) override {}
  void reduce(std::span<std::byte>, DataType, int) override {}
};

}  // namespace

TEST_CASE("a model has as many weights as were counted before it was made", "[learn]") {
  const auto weights_of = [](auto&& model) {
    std::size_t weights = 0;
    for (const Parameter<float>* const parameter : model.parameters()) weights += parameter->value.elements().size();
    return weights;
  };
  const std::vector<std::size_t> widths{5, 4, 7, 3};
  CHECK(weights_of(Mlp<float>(widths, Activation::relu, 2, 1)) == Mlp<float>::size_of(widths, 2).weights);
  SequenceShape shape{.symbols = 11, .embedding = 3, .hidden = 4, .layers = 2, .symbol_classes = 6, .max_symbols = 8};
  for (const std::size_t classes : {std::size_t{0}, std::size_t{5}}) {
    shape.sequence_classes = classes;
    CHECK(weights_of(SequenceModel<float>(shape, 1)) == SequenceModel<float>::size_of(shape).weights);
  }
}

TEST_CASE("chunks are those that conlleval sees", "[learn]") {
  const std::vector<std::string> tags{"I-a", "I-a", "I-b", "O", "B-a", "B-a", "I-a", "I-b", "O", "I-b"};
  const std::vector<Chunk> expected{{0, 2, "a"}, {2, 3, "b"}, {4, 5, "a"}, {5, 7, "a"}, {7, 8, "b"}, {9, 10, "b"}};
  CHECK(chunks_of(tags) == expected);
  CHECK(chunks_of({}).empty());

  CHECK(correct({"B-a", "I-a", "O"}, {"B-a", "I-a", "O"}) == 1);
  CHECK(correct({"B-a", "I-a", "O"}, {"B-a", "O", "O"}) == 0);    // too short
  CHECK(correct({"B-a", "O", "O"}, {"B-a", "I-a", "O"}) == 0);    // too long
  CHECK(correct({"B-a", "I-a", "O"}, {"B-b", "I-b", "O"}) == 0);  // another type
  CHECK(correct({"B-a", "I-a", "O"}, {"I-a", "I-a", "O"}) == 1);  // the same words and type

  ChunkCounts counts;
  counts.add(std::vector<std::string>{"B-a", "O", "B-b"}, std::vector<std::string>{"B-a", "B-b", "O"});
  counts.add(std::vector<std::string>{"B-a", "B-c"}, std::vector<std::string>{"B-a", "O"});
  CHECK(counts.true_ones == 4);
  CHECK(counts.found == 3);
  CHECK(counts.correct == 2);
  CHECK(f1(4, 3, 2) == Approx(2 * (2.0 / 3) * (2.0 / 4) / (2.0 / 3 + 2.0 / 4)));
  CHECK(f1(4, 0, 0) == 0);
}

TEST_CASE("packing puts the steps of all sequences next to each other", "[learn]") {
  const std::vector<std::size_t> lengths{3, 2, 1};
  const Packing packing(lengths);
  CHECK(packing.rows() == 6);
  CHECK(packing.steps() == 3);
  CHECK(packing.active(0) == 3);
  CHECK(packing.active(1) == 2);
  CHECK(packing.active(2) == 1);
  CHECK(packing.row(1, 1) == 4);
  CHECK(packing.last_row(0) == 5);
  CHECK(packing.last_row(2) == 2);
  CHECK(Packing({}).rows() == 0);
}

TEST_CASE("an epoch's order has every sample once, and depends on seed and epoch", "[learn]") {
  const std::vector<std::size_t> order = shuffled(100, 1, 0);
  std::vector<bool> seen(100);
  for (const std::size_t place : order) seen[place] = true;
  CHECK(std::find(seen.begin(), seen.end(), false) == seen.end());
  CHECK(shuffled(100, 1, 0) == order);
  CHECK(shuffled(100, 1, 1) != order);
  CHECK(shuffled(100, 2, 0) != order);
  CHECK(shuffled(8, 1, 0) == std::vector<std::size_t>{4, 1, 0, 3, 6, 5, 7, 2});  // whatever the standard library
}

TEST_CASE("the loss of softmax is right where scores are large, and tells what is no number", "[learn]") {
  std::vector<double> scores{1000, 0, -1000, 0, 0, 0};
  const Loss loss = softmax_cross_entropy(MatrixView<double>(scores.data(), 2, 3), std::vector<std::uint32_t>{1, 0}, 2);
  CHECK(loss.sum == Approx(1000 + std::log(3)));
  CHECK(loss.correct == 1);
  CHECK(scores[0] == Approx(2));
  CHECK(scores[1] == Approx(-2));
  CHECK(scores[3] == Approx(2.0 / 3 - 2));

  std::vector<double> broken{1, std::numeric_limits<double>::quiet_NaN()};
  const MatrixView<double> view(broken.data(), 1, 2);
  CHECK_FALSE(std::isfinite(softmax_cross_entropy(view, std::vector<std::uint32_t>{0}, 1).sum));
}

TEST_CASE("optimisers do what their formulas say", "[learn]") {
  Parameter<double> w("w", 1, 1, 1);
  double& value = w.value.elements()[0];
  const auto step = [&](Optimizer<double>& optimizer, double g) {
    optimizer.begin(0.1);
    double& target = *w.target.data;
    target = (w.update.beta == 0 ? 0 : w.update.beta * target) + w.update.alpha * g;
    optimizer.update(0);
  };

  for (const bool sums_in_gradients : {true, false}) {
    CAPTURE(sums_in_gradients);
    value = 1;
    const auto momentum = make_optimizer<double>(
        {&w}, {.name = "sgd", .momentum = 0.5, .weight_decay = 0.25, .sums_in_gradients = sums_in_gradients});
    step(*momentum, 2);  // v = 2.25
    CHECK(value == Approx(1 - 0.225));
    step(*momentum, 1);  // v = 1.125 + 1 + 0.25 * 0.775
    CHECK(value == Approx(0.775 - 0.1 * (2.125 + 0.25 * 0.775)));

    value = 1;
    const auto plain = make_optimizer<double>(
        {&w}, {.name = "sgd", .momentum = 0, .weight_decay = 0.25, .sums_in_gradients = sums_in_gradients});
    step(*plain, 2);
    CHECK(value == Approx(1 - 0.225));
    CHECK((w.target.data == &w.gradient.elements()[0]) == sums_in_gradients);
    CHECK((w.target.data == &value) == !sums_in_gradients);
    CHECK(plain->state().empty());
  }
  make_optimizer<double>({&w}, {.clip_norm = 1})->begin(0.1);
  CHECK(w.target.data == &w.gradient.elements()[0]);

  value = 1;
  const auto adam = make_optimizer<double>({&w}, {.name = "adam"});
  step(*adam, 3);  // the means of one gradient, unbiased, are that gradient and its square
  CHECK(value == Approx(0.9));
  step(*adam, -1);
  const double m = (0.9 * 0.1 * 3 - 0.1) / (1 - 0.81), v = (0.999 * 0.001 * 9 + 0.001) / (1 - 0.999 * 0.999);
  CHECK(value == Approx(0.9 - 0.1 * m / std::sqrt(v)));
}

TEST_CASE("clipping scales all gradients alike", "[learn]") {
  Parameter<float> a("a", 1, 2, 1), b("b", 1, 1, 1);
  const auto set = [&](float x, float y, float z) {
    a.gradient.elements()[0] = x;
    a.gradient.elements()[1] = y;
    b.gradient.elements()[0] = z;
  };
  set(2, 3, 6);
  CHECK(clip_gradients<float>({&a, &b}, 8) == Approx(7));
  CHECK(b.gradient.elements()[0] == 6);
  CHECK(clip_gradients<float>({&a, &b}, 3.5) == Approx(7));
  CHECK(a.gradient.elements()[0] == 1);
  CHECK(a.gradient.elements()[1] == 1.5F);
  CHECK(b.gradient.elements()[0] == 3);
}

TEST_CASE("a schedule's products of factors are no communication", "[learn]") {
  constexpr std::size_t n = 1000, pairs = 100;
  const std::string name = GENERATE("overlap", "reduce-broadcast", "allreduce");
  run_on_threads(1, [&](Transport& transport) {
    Parameter<float> layer("layer", n, n, pairs);
    const auto schedule = make_schedule(name, transport, {&layer}, {});
    Matrix<float> a(pairs, n), b(pairs, n);
    // Were they, all of a call's time would count, in every try; in one alone it may be another process that had the
    // core.
    bool counts_less = false;
    for (int attempt = 0; attempt < 10 && !counts_less; ++attempt) {
      const double before = schedule->report().communication_seconds;
      double seconds = 0;
      Stopwatch watch;
      schedule->give(layer, Factors<float>{a.view(), b.view()});
      watch.stop(seconds);
      counts_less = schedule->report().communication_seconds - before < seconds / 2;
      schedule->finish();
      schedule->settle();
    }
    CHECK(counts_less);
  });
}

TEST_CASE("algorithm 3 sends weights again every five steps over the MPI library's sums, which may differ by rank",
          "[learn]") {
  constexpr int ranks = 3;
  const std::string failures = tests::failures_on_threads(ranks, [&](Transport& threads, tests::Failures& failed) {
    DifferingSums transport(threads);
    const auto rank = static_cast<float>(transport.rank());
    Parameter<float> layer("layer", 1, 2, 1);
    const auto schedule = make_schedule("allreduce", transport, {&layer}, {.algorithm = "mpi"});
    const std::span<float> value = layer.value.elements();
    std::fill(value.begin(), value.end(), 0.0F);
    const auto train_step = [&] {
      schedule->finish();
      for (float& v : value) v += layer.gradient.elements()[0];
      schedule->share_weights();
    };
    const auto expect = [&](float expected, const std::string& when) {
      failed.check(value[0] == expected && value[1] == expected, when + " on rank " + std::to_string(rank));
    };
    for (int step = 1; step <= 12; ++step) {
      train_step();
      expect(static_cast<float>(step % 5) * rank, "step " + std::to_string(step));  // rank 0 adds nothing
    }
    schedule->settle();
    expect(0, "settled");
    for (int step = 1; step <= 5; ++step) train_step();
    expect(0, "five steps after that");
  });
  CHECK(failures == "");
}

TEST_CASE("algorithm 3 needs to send no weights over sums of dsop's own: after each step the ranks' are equal",
          "[learn]") {
  const std::string collective = GENERATE("linear-pipeline", "minimum-spanning-tree", "bidirectional-exchange");
  const int ranks = GENERATE(2, 3, 5, 8);
  CAPTURE(collective, ranks);
  const std::string failures = tests::failures_on_threads(ranks, [&](Transport& transport, tests::Failures& failed) {
    CountingTransport counted(transport);
    std::mt19937 random(static_cast<unsigned>(transport.rank()));
    std::normal_distribution<float> normal;
    Parameter<float> layer("layer", 37, 41, 1);
    const auto optimizer = make_optimizer<float>({&layer}, {.name = "adam"});
    const auto schedule = make_schedule("allreduce", counted, {&layer}, {.algorithm = collective});
    std::size_t messages_of_step = 0;
    for (int step = 1; step <= 12; ++step) {
      const std::size_t before = counted.payload().messages;
      for (float& g : layer.gradient.elements()) g = normal(random);
      optimizer->begin(0.1);
      schedule->finish();
      optimizer->update(0);
      schedule->share_weights();
      if (step == 1) messages_of_step = counted.payload().messages;
      failed.check(counted.payload().messages - before == messages_of_step, "messages of step " + std::to_string(step));
      check_same_bits<float>(transport, layer.value.view());
    }
    schedule->settle();
    failed.check(counted.payload().messages == 12 * messages_of_step, "messages of settle()");
  });
  CHECK(failures == "");
}

TEST_CASE("ranks agree that a schedule is unknown", "[learn]") {
  const auto make = [](Transport& transport) { make_schedule("none", transport, {}, {}); };
  CHECK_THROWS_WITH(run_on_threads(3, make),
                    "ranks 0-2: --schedule is none, expected overlap, reduce-broadcast or allreduce");
}

}  // namespace dsop::learn
