// Linear models: their losses and gradients, and training that gives the same for any number of ranks.
#include "learn/linear/training.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <dsop/threads.hpp>

#include "algorithms/sparse/algorithm.hpp"
#include "linear_cases.hpp"

namespace {

using namespace dsop::learn;
using dsop::run_on_threads;
using dsop::Transport;

void check_same(const std::vector<nlohmann::json>& rows, const std::vector<nlohmann::json>& expected) {
  REQUIRE(rows.size() == expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const char* const name : {"loss", "test_loss"})
      CHECK(rows[i].at(name).get<double>() == Approx(expected[i].at(name).get<double>()).epsilon(1e-5));
}

}  // namespace

TEST_CASE("linear: slopes agree with finite differences") {
  for (const LinearLoss& loss : linear_losses())
    for (const double y : {-1.0, 1.0})
      for (const double z : {-30.0, -2.5, -0.3, 0.0, 0.4, 3.0, 40.0}) {
        constexpr double h = 1e-6;
        CAPTURE(loss.name, z, y);
        CHECK(std::abs((loss.value(z + h, y) - loss.value(z - h, y)) / (2 * h) - loss.slope(z, y)) < 1e-6);
      }
  for (const LinearLoss& loss : linear_losses()) {
    CAPTURE(loss.name);
    CHECK(std::isnan(loss.slope(std::nan(""), 1)));
    CHECK_FALSE(std::isfinite(loss.value(std::nan(""), 1)));
    CHECK_FALSE(std::isfinite(loss.value(-INFINITY, 1)));
    CHECK(std::isfinite(loss.value(-1e6, 1)));
    if (loss.labels != Labels::two_classes) continue;
    CHECK(loss.value(INFINITY, 1) == 0);
    for (const double z : {-INFINITY, INFINITY}) CHECK(std::isfinite(loss.slope(z, 1)));
  }
}

TEST_CASE("linear: a batch's gradient is that of its samples one by one") {
  const TemporaryFolder folder;
  const SparseSamples samples = read_libsvm(folder.write("train", two_classes(12, 3)), 0, 1, Labels::two_classes);
  const Batch batch = make_batch(samples, 3, 9);
  std::vector<float> weights(300);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 5) - 2;
  for (const LinearLoss& loss : linear_losses()) {
    std::vector<double> expected(300);
    double expected_loss = 0;
    for (std::size_t i = 3; i < 9; ++i) {
      double z = 0;
      for (std::size_t e = samples.row_offsets[i]; e < samples.row_offsets[i + 1]; ++e)
        z += double{weights[samples.indices[e]]} * double{samples.values[e]};
      expected_loss += loss.value(z, samples.labels[i]);
      for (std::size_t e = samples.row_offsets[i]; e < samples.row_offsets[i + 1]; ++e)
        expected[samples.indices[e]] += loss.slope(z, samples.labels[i]) * double{samples.values[e]};
    }
    std::vector<float> own_weights;
    gather(weights, batch.columns, own_weights);
    for (const int threads : {1, 2, 3, 6, 9}) {
      CAPTURE(loss.name, threads);
      std::vector<float> gradient;
      CHECK(compute_gradient(batch, loss, own_weights, threads, gradient) == Approx(expected_loss));
      REQUIRE(gradient.size() == batch.columns.size());
      std::vector<double> found(300);
      for (std::size_t e = 0; e < gradient.size(); ++e) found[batch.columns[e]] = double{gradient[e]};
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-5));
      for (int again = 0; again < 20; ++again) {
        std::vector<float> other;
        compute_gradient(batch, loss, own_weights, threads, other);
        CHECK(other == gradient);
      }
      CHECK(compute_gradient_by_hogwild(batch, loss, own_weights, 0, threads, gradient) == Approx(expected_loss));
      CHECK(gradient.size() == batch.columns.size());  // several threads may lose a sum
    }
  }
  std::vector<float> beyond;
  gather(std::vector<float>{1, 2}, std::vector<std::uint32_t>{1, 2}, beyond);
  CHECK(beyond == std::vector<float>{2, 0});
}

TEST_CASE("linear: threads give one thread's gradient where no two samples share a feature") {
  constexpr std::uint32_t count = 40, features_each = 7;
  SparseSamples samples;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t e = 0; e < features_each; ++e) {
      samples.indices.push_back(features_each * i + e);
      samples.values.push_back(static_cast<float>(i % 3 + e));
    }
    samples.row_offsets.push_back(samples.indices.size());
    samples.labels.push_back(i % 2 == 0 ? 1.0F : -1.0F);
  }
  const Batch batch = make_batch(samples, 0, count);
  for (const LinearLoss& loss : linear_losses()) {
    std::vector<float> one, several;
    std::vector<float> weights(batch.columns.size(), 0.25F);
    const double sum = compute_gradient(batch, loss, weights, 1, one);
    CAPTURE(loss.name);
    CHECK(compute_gradient(batch, loss, weights, 3, several) == Approx(sum));
    CHECK(several == one);
    CHECK(compute_gradient_by_hogwild(batch, loss, weights, 0, 3, several) == Approx(sum));
    CHECK(several == one);
  }
}

TEST_CASE("linear: at equal global batch every synchronous strategy gives the losses of one rank") {
  Training training;
  LinearSettings& settings = training.settings();
  settings.loss = &linear_losses()[GENERATE(0U, 1U, 2U)];
  settings.learning_rate = 0.5;
  settings.decay = 0.8;
  settings.l2 = 0.01;
  settings.epochs = 3;
  settings.batch = 12;
  const auto expected = training.run(1);
  REQUIRE(expected.size() == 3);
  CHECK(expected[2].at("loss").get<double>() < 0.9 * expected[0].at("loss").get<double>());

  std::vector<std::string> strategies{"auto", "dense:ring"};
  for (const auto& algorithm : dsop::sparse_algorithms())
    if (!algorithm.native()) strategies.push_back(algorithm.name);
  for (const std::string& sync : strategies)
    for (const int ranks : {2, 4}) {
      CAPTURE(sync, ranks);
      settings.sync = sync;
      settings.batch = 12 / static_cast<std::size_t>(ranks);
      check_same(training.run(ranks), expected);
    }
  for (const int workers : {1, 2, 4}) {
    CAPTURE(workers);
    settings.sync = "ps";
    settings.batch = 12 / static_cast<std::size_t>(workers);
    const auto rows = training.run(workers + 1);
    check_same(rows, expected);
    for (const int servers : {1, 2, 3, 5}) {
      CAPTURE(servers);
      settings.sync = "ps:" + std::to_string(servers);
      const auto shared = training.run(workers + servers);
      REQUIRE(shared.size() == rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (const char* const name : {"loss", "test_loss", "test_accuracy"})
          CHECK(shared[i].at(name) == rows[i].at(name));
    }
  }
  settings.sync = "async-ps";
  settings.batch = 12;
  check_same(training.run(2), expected);  // of one worker, nobody waits for another either way
  settings.sync = "async-ps:3";
  check_same(training.run(4), expected);
}

TEST_CASE("linear: the asynchronous server and threads that share weights learn too") {
  Training training(400);
  LinearSettings& settings = training.settings();
  settings.learning_rate = 2;
  settings.epochs = 4;
  settings.batch = 5;
  const auto learns = [](const std::vector<nlohmann::json>& rows) {
    REQUIRE(rows.size() == 4);
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i].at("epoch") == i + 1);
    CHECK(rows[3].at("loss").get<double>() < 0.85 * std::log(2));
    CHECK(rows[3].at("test_accuracy").get<double>() >= 0.75);
  };
  learns(training.run(1));
  settings.sync = "async-ps";
  learns(training.run(4));
  settings.sync = "async-ps:2";
  learns(training.run(5));
  settings.sync = "auto";
  settings.threads = 3;
  learns(training.run(2));
  settings.hogwild = true;
  learns(training.run(2));
}

TEST_CASE("linear: threads with a gradient each give the same bits in every run, and the losses of one thread") {
  Training training;
  LinearSettings& settings = training.settings();
  settings.batch = 13;
  settings.epochs = 3;
  for (const std::string sync : {"auto", "ps"}) {
    CAPTURE(sync);
    settings.sync = sync;
    settings.threads = 1;
    const auto expected = training.run(3);
    settings.threads = 4;
    const auto rows = training.run(3);
    check_same(rows, expected);
    const auto again = training.run(3);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (const char* const name : {"loss", "test_loss"}) CHECK(again[i].at(name) == rows[i].at(name));
  }
}

TEST_CASE("linear: more servers than weights leave some without") {
  Training training;
  LinearSettings& settings = training.settings();
  settings.train = training.folder().write("narrow", "1 1:1\n-1 2:1\n1 1:2\n-1 2:3\n").string();
  settings.test.clear();
  settings.epochs = 2;
  for (const std::string family : {"ps", "async-ps"}) {
    settings.sync = family;
    const auto expected = training.run(2);
    settings.sync = family + ":5";
    const auto rows = training.run(6);
    REQUIRE(rows.size() == 2);
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i].at("loss") == expected[i].at("loss"));
  }
}

TEST_CASE("linear: how many servers a strategy has") {
  for (const auto& [sync, servers] :
       {std::pair("ps", 1), std::pair("async-ps", 1), std::pair("ps:3", 3), std::pair("async-ps:12", 12)})
    CHECK(servers_of(sync) == servers);
  for (const char* const sync :
       {"auto", "ps:", "ps:0", "ps:-1", "ps:2.5", "ps:2x", "ps: 2", "ps:99999999999", "pss", "psync:2"})
    CHECK(servers_of(sync) == 0);
}

TEST_CASE("linear: learning rates") {
  LinearSettings settings{.learning_rate = 8, .decay = 0.5};
  CHECK(settings.rate(1, 1) == 8);
  CHECK(settings.rate(3, 99) == 2);
  settings.rate_schedule = RateSchedule::inverse;
  CHECK(settings.rate(3, 16) == 0.5);

  Training training;
  training.settings().rate_schedule = RateSchedule::inverse;
  training.settings().learning_rate = 20;
  training.settings().epochs = 2;
  training.settings().batch = 10;
  const auto expected = training.run(1);
  training.settings().sync = "ps";
  check_same(training.run(2), expected);  // the server counts steps over epochs as well
}

TEST_CASE("linear: a row says what made it and where its time went") {
  Training training;
  training.settings().epochs = 1;
  const auto rows = training.run(2);
  REQUIRE(rows.size() == 1);
  const auto& row = rows[0];
  CHECK(row.at("model") == "linear");
  CHECK(row.at("loss_function") == "logistic");
  CHECK(row.at("sync") == "auto");
  CHECK(row.at("ranks") == 2);
  CHECK(row.at("samples") == 101);
  CHECK(row.at("steps") == 6);
  const auto seconds = [&](const char* name) { return row.at(name).get<double>(); };
  CHECK(seconds("data_seconds") > 0);
  CHECK(seconds("arithmetic_seconds") > 0);
  CHECK(seconds("communication_seconds") > 0);
  CHECK(seconds("total_seconds") >= seconds("data_seconds"));

  training.settings().test.clear();
  CHECK(training.run(2)[0].at("test_accuracy").is_null());
}

TEST_CASE("linear: sums are planned for the machine that is given") {
  Training training;
  training.settings().machine = dsop::Machine{.latency_seconds = -1};
  CHECK_THAT(training.error(2), Catch::Matchers::Contains("machine.latency_seconds is -1"));
}

TEST_CASE("linear: a loss that is no number stops all ranks, with epoch and step") {
  Training training;
  training.settings().loss = &linear_losses()[0];
  training.settings().learning_rate = 1e9;
  training.settings().batch = 1;
  for (const auto& [sync, ranks] : {std::pair("auto", 3), std::pair("dense:ring", 3), std::pair("ps", 3),
                                    std::pair("async-ps", 3), std::pair("ps:3", 7), std::pair("async-ps:3", 7)}) {
    CAPTURE(sync);
    training.settings().sync = sync;
    const std::string words = training.error(ranks);
    CHECK_THAT(words, Catch::Matchers::Contains("loss is not finite any more at epoch 1, step "));
    CHECK_THAT(words, Catch::Matchers::Contains("--learning-rate is 1e+09, expected a smaller one"));
    CHECK_THAT(words, Catch::Matchers::StartsWith("rank"));  // so they have agreed on it
  }
}

TEST_CASE("linear: what only weights or losses show to be infinite stops all ranks at the epoch's end") {
  Training training;
  LinearSettings& settings = training.settings();
  settings.epochs = 1;
  settings.batch = 1;
  settings.learning_rate = 1e9;
  const auto expect = [&](const std::string& words, const std::string& train, const std::string& test) {
    settings.train = training.folder().write("train", train).string();
    settings.test = training.folder().write("test", test).string();
    for (const auto& [sync, ranks] : {std::pair("auto", 1), std::pair("ps", 2), std::pair("async-ps", 2),
                                      std::pair("ps:2", 3), std::pair("async-ps:2", 3)}) {
      CAPTURE(words, sync);
      settings.sync = sync;
      CHECK_THAT(training.error(ranks),
                 Catch::Matchers::StartsWith("rank") &&
                     Catch::Matchers::Contains(words + " not finite any more at the end of epoch 1"));
      CHECK(std::filesystem::file_size(settings.out) == 0);
    }
  };
  expect("weights are", "1 1:1e30\n-1 2:1e30\n", "1 1:1\n");
  // Whichever sample comes second has an infinite score, and another label than that says.
  expect("the loss is", "1 1:1e20\n-1 1:1e20\n", "1 2:1\n");
  settings.learning_rate = 10;
  expect("the loss on --test is", "1 1:1\n-1 2:1\n", "-1 1:3e38\n");
}
