// Linear models: their losses, how samples are dealt out, and training that gives the same for any number of ranks.
#include "learn/linear/training.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <dsop/threads.hpp>

#include "linear_cases.hpp"
#include "sparse/algorithm.hpp"

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
  }
}

TEST_CASE("linear: samples are dealt out in one order for any number of ranks, a server none") {
  constexpr std::size_t total = 23;
  const auto dealt = [](int ranks, Workers workers) {
    std::vector<SparseSamples> hands(static_cast<std::size_t>(ranks));
    run_on_threads(ranks, [&](Transport& transport) {
      SparseSamples own;  // rank r begins with those from total r / P on: sample i has i elements of value i
      const auto first = total * static_cast<std::size_t>(transport.rank()) / static_cast<std::size_t>(ranks);
      const auto last = total * static_cast<std::size_t>(transport.rank() + 1) / static_cast<std::size_t>(ranks);
      for (std::size_t i = first; i < last; ++i) {
        own.labels.push_back(static_cast<float>(i));
        for (std::size_t e = 0; e < i; ++e) {
          own.indices.push_back(static_cast<std::uint32_t>(4294967295U - i + e));
          own.values.push_back(static_cast<float>(i));
        }
        own.row_offsets.push_back(own.indices.size());
      }
      hands[static_cast<std::size_t>(transport.rank())] = deal(transport, own, workers, 5);
    });
    std::vector<float> labels;
    for (std::size_t place = 0; place < total; ++place) {
      const auto W = static_cast<std::size_t>(workers.count);
      const SparseSamples& hand = hands[static_cast<std::size_t>(workers.first) + place % W];
      const std::size_t row = place / W;
      const auto label = static_cast<std::size_t>(hand.labels.at(row));
      REQUIRE(hand.row_offsets[row + 1] - hand.row_offsets[row] == label);
      if (label > 0) CHECK(hand.indices[hand.row_offsets[row]] == 4294967295U - label);
      if (label > 0) CHECK(hand.values[hand.row_offsets[row + 1] - 1] == static_cast<float>(label));
      labels.push_back(hand.labels[row]);
    }
    if (workers.first == 1) CHECK(hands[0].count() == 0);
    return labels;
  };
  const std::vector<float> one = dealt(1, {0, 1});
  std::vector<float> sorted = one;
  std::sort(sorted.begin(), sorted.end());
  CHECK(one != sorted);
  for (std::size_t i = 0; i < total; ++i) CHECK(sorted[i] == static_cast<float>(i));
  for (const int ranks : {2, 3, 4, 9, 23}) CHECK(dealt(ranks, {0, ranks}) == one);
  for (const int ranks : {2, 3, 5}) CHECK(dealt(ranks, {1, ranks - 1}) == one);
}

TEST_CASE("linear: each rank has its part of each mini-batch, and the last may be smaller") {
  const TemporaryFolder folder;
  const LinearSettings settings{.train = folder.write("train", two_classes(23, 1)).string(),
                                .test = folder.write("test", two_classes(7, 2)).string(),
                                .loss = &linear_losses()[1],
                                .batch = 3};
  std::vector<LinearData> data(3);
  run_on_threads(3, [&](Transport& transport) {
    data[static_cast<std::size_t>(transport.rank())] = read_linear_data(transport, settings);
  });
  std::size_t test_samples = 0;
  for (std::size_t r = 0; r < 3; ++r) {
    REQUIRE(data[r].batches.size() == 3);
    CHECK(data[r].samples == 23);
    CHECK(data[r].test_samples == 7);
    test_samples += data[r].test.rows.count();
    for (std::size_t step = 0; step < 3; ++step) {
      const std::size_t rows = step < 2 ? 3 : r < 2 ? 2 : 1;
      CHECK(data[r].batches[step].rows.count() == rows);
      CHECK(data[r].batches[step].all_samples == (step < 2 ? 9 : 5));
    }
    for (const std::size_t epoch : {1U, 2U, 9U})
      CHECK(step_order(data[r], settings, epoch) == step_order(data[0], settings, epoch));
  }
  CHECK(test_samples == 7);
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
    for (const int threads : {1, 3}) {  // step 0: threads then leave the weights as they are
      CAPTURE(loss.name, threads);
      std::vector<float> own_weights;
      gather(weights, batch.columns, own_weights);
      std::vector<float> gradient;
      CHECK(compute_gradient(batch, loss, own_weights, 0, threads, gradient) == Approx(expected_loss));
      REQUIRE(gradient.size() == batch.columns.size());
      std::vector<double> found(300);
      for (std::size_t e = 0; e < gradient.size(); ++e) found[batch.columns[e]] = double{gradient[e]};
      if (threads == 1)  // several may lose a sum
        for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-5));
    }
  }
  std::vector<float> beyond;
  gather(std::vector<float>{1, 2}, std::vector<std::uint32_t>{1, 2}, beyond);
  CHECK(beyond == std::vector<float>{2, 0});
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
    check_same(training.run(workers + 1), expected);
  }
  settings.sync = "async-ps";
  settings.batch = 12;
  check_same(training.run(2), expected);  // of one worker, nobody waits for another either way
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
  settings.sync = "auto";
  settings.threads = 3;
  learns(training.run(2));
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

TEST_CASE("linear: a loss that is no number stops all ranks, with epoch and step") {
  Training training;
  training.settings().loss = &linear_losses()[0];
  training.settings().learning_rate = 1e9;
  training.settings().batch = 1;
  for (const std::string sync : {"auto", "dense:ring", "ps", "async-ps"}) {
    CAPTURE(sync);
    training.settings().sync = sync;
    const std::string words = training.error(3);
    CHECK_THAT(words, Catch::Matchers::Contains("loss is not finite any more at epoch 1, step "));
    CHECK_THAT(words, Catch::Matchers::Contains("--learning-rate is 1e+09, expected a smaller one"));
  }
}

TEST_CASE("linear: bad data are told on all ranks") {
  Training training(5);
  LinearSettings& settings = training.settings();
  const auto expect = [&](int ranks, const std::vector<std::string>& words) {
    const std::string text = training.error(ranks);
    for (const std::string& word : words) CHECK_THAT(text, Catch::Matchers::Contains(word));
  };
  expect(6, {"train: has 5 samples", "each of the 6 ranks that compute"});
  settings.sync = "ps";
  expect(7, {"train: has 5 samples", "each of the 6 ranks that compute"});
  CHECK(training.error(6).empty());
  expect(1, {"--sync ps has 1 rank, expected 2 or more"});
  settings.sync = "auto";
  settings.train = training.folder().write("mixed", "1 1:1\n0 2:1\n-1 3:1\n").string();
  expect(2, {"mixed: has labels -1 and 0, expected -1 and 1, or 0 and 1"});
  settings.train = training.folder().write("bare", "1\n-1\n").string();
  expect(2, {"bare: has no features"});
  settings.train =
      training.folder().write("wide", "1 1:1\n0 3:1 9:1\n0\n1 2:1 4000000000:1\n0 4000000000:1\n").string();
  settings.host_memory_bytes = 16'000'000'000;
  for (const auto& [sync, needed] :
       {std::pair("auto", "48.0 GB where 3"), std::pair("dense:ring", "144.0 GB where 3")}) {
    settings.sync = sync;
    expect(3, {"wide, line 4: index 4000000000 makes as many weights: ", needed, "has 16.0 GB available"});
  }
  settings.host_memory_bytes = 15'999'999'999;
  settings.sync = "ps";  // the server alone keeps them
  expect(3, {"wide, line 4: index 4000000000 makes as many weights: 16.0 GB where 1"});
  settings.sync = "auto";
  settings.train = training.folder().write("less-wide", "1 1:1\n0 100000:1\n").string();
  settings.host_memory_bytes = 800'000;
  CHECK(training.error(2).empty());
  settings.host_memory_bytes = 799'999;
  expect(2, {"less-wide, line 2: index 100000 makes as many weights"});
  settings.host_memory_bytes.reset();
  settings.train = training.folder().write("three", "1 1:1\n2 2:1\n").string();
  expect(2, {"three, line 2: the label is \"2\""});
  settings.train = training.folder().write("good", "1 1:1\n0 2:1\n").string();
  settings.test = training.folder().write("bad", "1 1:1\n0 0:1\n").string();
  expect(2, {"bad, line 2: the index is \"0\""});
  settings.test = training.folder().write("zero-one", "1 1:1\n-1 2:1\n").string();
  CHECK(training.error(2).empty());
  settings.test.clear();
  Training absent;
  absent.settings().train = (absent.folder().path() / "absent").string();
  CHECK_THAT(absent.error(2), Catch::Matchers::Contains("absent: can't be opened"));
}
