// A linear model's samples: who has which, and what is said about bad ones.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include <dsop/threads.hpp>

#include "learn/linear/training.hpp"
#include "linear_cases.hpp"

using namespace dsop::learn;
using dsop::run_on_threads;
using dsop::Transport;

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
  std::vector<std::vector<Batch>> batches(3);
  run_on_threads(3, [&](Transport& transport) {
    const auto r = static_cast<std::size_t>(transport.rank());
    data[r] = read_linear_data(transport, settings);
    batches[r] = batches_of_epoch(transport, data[r], settings, 1);
  });
  std::size_t test_samples = 0;
  for (std::size_t r = 0; r < 3; ++r) {
    CHECK(data[r].steps == 3);
    REQUIRE(batches[r].size() == 3);
    CHECK(data[r].samples == 23);
    CHECK(data[r].test_samples == 7);
    test_samples += data[r].test.rows.count();
    for (std::size_t step = 0; step < 3; ++step) {
      const std::size_t rows = step < 2 ? 3 : r < 2 ? 2 : 1;
      CHECK(batches[r][step].rows.count() == rows);
      CHECK(batches[r][step].all_samples == (step < 2 ? 9 : 5));
    }
  }
  CHECK(test_samples == 7);
}

namespace {

/// The labels of each mini-batch of an epoch, sorted.
using MiniBatches = std::vector<std::vector<float>>;

MiniBatches mini_batches(LinearSettings settings, int ranks, std::size_t batch, std::size_t epoch) {
  settings.batch = batch;
  std::vector<std::vector<Batch>> of_ranks(static_cast<std::size_t>(ranks));
  run_on_threads(ranks, [&](Transport& transport) {
    const LinearData data = read_linear_data(transport, settings);
    of_ranks[static_cast<std::size_t>(transport.rank())] = batches_of_epoch(transport, data, settings, epoch);
  });
  MiniBatches labels(of_ranks[0].size());
  for (const std::vector<Batch>& batches : of_ranks)
    for (std::size_t step = 0; step < labels.size(); ++step)
      labels[step].insert(labels[step].end(), batches[step].rows.labels.begin(), batches[step].rows.labels.end());
  for (std::vector<float>& of_step : labels) std::sort(of_step.begin(), of_step.end());
  return labels;
}

}  // namespace

TEST_CASE("linear: all samples are shuffled in every epoch, the same for any number of ranks") {
  const TemporaryFolder folder;
  std::string file;
  for (int i = 0; i < 50; ++i) file += std::to_string(i) + " 1:1\n";
  LinearSettings settings{.train = folder.write("train", file).string(), .loss = &linear_losses()[0]};
  MiniBatches before;
  for (const std::size_t epoch : {1U, 2U, 3U}) {
    CAPTURE(epoch);
    settings.sync = "auto";
    const MiniBatches expected = mini_batches(settings, 1, 12, epoch);
    REQUIRE(expected.size() == 5);
    std::vector<float> all;
    for (const std::vector<float>& of_step : expected) all.insert(all.end(), of_step.begin(), of_step.end());
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < 50; ++i) CHECK(all.at(i) == static_cast<float>(i));
    for (const std::vector<float>& together : expected)  // not the order of mini-batches alone
      CHECK(std::count(before.begin(), before.end(), together) == 0);
    before = expected;
    for (const int ranks : {2, 3, 4})
      CHECK(mini_batches(settings, ranks, 12 / static_cast<std::size_t>(ranks), epoch) == expected);
    settings.sync = "ps";
    for (const int workers : {1, 3})
      CHECK(mini_batches(settings, workers + 1, 12 / static_cast<std::size_t>(workers), epoch) == expected);
    settings.sync = "async-ps";
    CHECK(mini_batches(settings, 2, 12, epoch) == expected);
    CHECK(mini_batches(settings, 4, 4, epoch).size() == 5);
  }
}

namespace {

/// Samples 0 .. count - 1 in a rank's turn: sample i is labelled i, and has one element of index i.
SparseSamples numbered(const Transport& transport, std::size_t count) {
  const auto r = static_cast<std::size_t>(transport.rank());
  const auto P = static_cast<std::size_t>(transport.size());
  SparseSamples own;
  for (std::size_t i = count * r / P; i < count * (r + 1) / P; ++i) {
    own.labels.push_back(static_cast<float>(i));
    own.indices.push_back(static_cast<std::uint32_t>(i));
    own.values.push_back(1);
    own.row_offsets.push_back(own.indices.size());
  }
  return own;
}

/// The labels of all places, in order, as the ranks have them after `make` in each.
template <class Make>
std::vector<float> places_of(int ranks, std::size_t count, const Make& make) {
  std::vector<SparseSamples> hands(static_cast<std::size_t>(ranks));
  run_on_threads(ranks, [&](Transport& transport) {
    const Workers workers{0, ranks};
    const SparseSamples dealt = deal(transport, numbered(transport, count), workers, 5);
    hands[static_cast<std::size_t>(transport.rank())] = make(transport, dealt, workers);
  });
  std::vector<float> labels;
  for (std::size_t place = 0; place < count; ++place) {
    const SparseSamples& hand = hands[place % hands.size()];
    const std::size_t row = place / hands.size();
    labels.push_back(hand.labels.at(row));
    CHECK(static_cast<float>(hand.indices.at(hand.row_offsets[row])) == labels.back());
  }
  return labels;
}

std::vector<float> first_batch(const std::vector<float>& places, std::size_t batch) {
  std::vector<float> labels(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(batch));
  std::sort(labels.begin(), labels.end());
  return labels;
}

}  // namespace

TEST_CASE("linear: samples are dealt anew in each epoch, in one order for any number of ranks") {
  constexpr std::size_t count = 47;
  constexpr std::uint64_t seed = 9;
  const auto dealt_again = [&](int ranks, std::size_t epoch) {
    return places_of(ranks, count, [&](Transport& transport, const SparseSamples& dealt, Workers workers) {
      return deal_again(transport, dealt, workers, seed, epoch);
    });
  };
  std::vector<float> before = places_of(1, count, [](auto&, const SparseSamples& dealt, auto) { return dealt; });
  for (const std::size_t epoch : {1U, 2U}) {
    CAPTURE(epoch);
    const std::vector<float> order = dealt_again(1, epoch);
    for (const int ranks : {2, 3}) CHECK(dealt_again(ranks, epoch) == order);
    std::vector<float> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < count; ++i) CHECK(sorted[i] == static_cast<float>(i));
    CHECK(first_batch(order, 12) != first_batch(before, 12));  // not only in another order
    before = order;
  }
}

TEST_CASE("linear: one worker's shuffle gives what dealing anew does") {
  for (const std::size_t epoch : {1U, 2U})
    for (const std::size_t count : {1U, 47U})
      CHECK(places_of(1, count, [&](auto&, const SparseSamples& dealt, auto) { return shuffle(dealt, 9, epoch); }) ==
            places_of(1, count, [&](Transport& transport, const SparseSamples& dealt, Workers workers) {
              return deal_again(transport, dealt, workers, 9, epoch);
            }));
}

TEST_CASE("linear: of labels 1 and 2 the lower is -1, also in a file to test on that has 1 alone") {
  Training training(5);
  LinearSettings& settings = training.settings();
  const auto run = [&](const std::string& low, const std::string& high) {
    settings.train = training.folder()
                         .write("train", low + " 1:1\n" + high + " 2:1\n" + low + " 1:2\n" + low + " 1:1 2:1\n")
                         .string();
    settings.test = training.folder().write("test", low + " 1:1\n").string();
    return training.run(2);
  };
  const auto expected = run("-1", "1");
  for (const auto& [low, high] : {std::pair("0", "1"), std::pair("1", "2")}) {
    const auto rows = run(low, high);
    REQUIRE(rows.size() == expected.size());
    for (const char* const number : {"loss", "test_loss", "test_accuracy"})
      CHECK(rows.back().at(number) == expected.back().at(number));
  }
  CHECK(expected.back().at("test_accuracy") == 1);
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
  expect(1, {"--sync ps has 1 rank, expected 2 or more: a server and those that compute"});
  settings.sync = "async-ps:3";
  expect(3, {"--sync async-ps:3 has 3 ranks, expected 4 or more: 3 servers and those that compute"});
  settings.sync = "auto";
  settings.train = training.folder().write("mixed", "1 1:1\n0 2:1\n-1 3:1\n").string();
  expect(2, {"mixed: has labels -1 and 0 and 1, expected -1 and 1, or 0 and 1"});
  settings.train = training.folder().write("bare", "1\n-1\n").string();
  expect(2, {"bare: has no features"});
  settings.train =
      training.folder().write("wide", "1 1:1\n0 3:1 9:1\n0\n1 2:1 4000000000:1\n0 4000000000:1\n").string();
  settings.host_memory_bytes = 16'000'000'000;
  for (const auto& [sync, needed] :
       {std::pair("auto", "48.0 GB where 3"), std::pair("dsar-split-allgather", "96.0 GB where 3"),
        std::pair("dense:ring", "144.0 GB where 3")}) {
    settings.sync = sync;
    expect(3, {"wide: index 4000000000 of sample 4 makes as many weights: ", needed, "has 16.0 GB available"});
  }
  settings.host_memory_bytes = 15'999'999'999;
  settings.sync = "ps";  // the server alone keeps them
  expect(3, {"wide: index 4000000000 of sample 4 makes as many weights: 16.0 GB where 1"});
  settings.sync = "ps:2";  // and its half the other
  expect(4, {"wide: index 4000000000 of sample 4 makes as many weights: 24.0 GB where 2"});
  settings.sync = "auto";
  settings.train = training.folder().write("less-wide", "1 1:1\n0 100000:1\n").string();
  settings.host_memory_bytes = 800'000;
  CHECK(training.error(2).empty());
  settings.host_memory_bytes = 799'999;
  expect(2, {"less-wide: index 100000 of sample 2 makes as many weights"});
  settings.host_memory_bytes.reset();
  settings.train = training.folder().write("three", "1 1:1\n3 2:1\n").string();
  expect(2, {"three, line 2: the label is \"3\""});
  settings.train = training.folder().write("three", "1 1:1\n2 2:1\n0 1:1\n").string();
  expect(2, {"three: has labels 0 and 1 and 2, expected -1 and 1, or 0 and 1, or 1 and 2"});
  settings.train = training.folder().write("from-one", "1 1:1\n2 2:1\n").string();
  settings.test = training.folder().write("other", "1 1:1\n0 2:1\n").string();
  expect(2, {"other: has labels 0 and 1, expected", "the file to train on has 1 and 2"});
  settings.train = training.folder().write("good", "1 1:1\n0 2:1\n").string();
  settings.test = training.folder().write("bad", "1 1:1\n0 0:1\n").string();
  expect(2, {"bad, line 2: the index is 0, expected 1 or more"});
  settings.test = training.folder().write("zero-one", "1 1:1\n-1 2:1\n").string();
  CHECK(training.error(2).empty());
  settings.test.clear();
  Training absent;
  absent.settings().train = (absent.folder().path() / "absent").string();
  CHECK_THAT(absent.error(2), Catch::Matchers::Contains("absent: can't be opened"));
}
