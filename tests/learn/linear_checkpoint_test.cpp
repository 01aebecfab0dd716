// Checkpoints of linear models: a resumed run is the run not interrupted, and nothing else is taken for one.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "linear_cases.hpp"

using namespace dsop::learn;

namespace {

/// Samples that all have the same fifth of the features: `auto` takes another algorithm once it has seen their sum.
std::string overlapping(std::size_t samples) {
  std::mt19937 random(4);
  std::ostringstream file;
  for (std::size_t i = 0; i < samples; ++i) {
    file << (random() % 2 == 0 ? "1" : "-1");
    for (std::size_t index = 1; index < 3000; index += 5) file << ' ' << index << ":0." << 1 + random() % 9;
    file << " 3000:1\n";
  }
  return file.str();
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("linear: a resumed run has the bits of one that was not interrupted") {
  Training training;
  LinearSettings& settings = training.settings();
  settings.train = training.folder().write("overlapping", overlapping(60)).string();
  settings.rate_schedule = GENERATE(RateSchedule::constant, RateSchedule::inverse);
  settings.decay = 0.7;
  settings.l2 = 0.01;
  settings.batch = 5;
  const std::string whole = (training.folder().path() / "whole").string();
  const std::string parts = (training.folder().path() / "parts").string();
  const auto run = [&](std::size_t epochs, const std::string& resume, const std::string& save) {
    settings.epochs = epochs;
    settings.resume = resume;
    settings.save = save;
    return training.run(4);
  };
  for (const std::string sync : {"auto", "dense:ring", "ssar-recursive-doubling", "ps", "ps:2"}) {
    CAPTURE(sync);
    settings.sync = sync;
    const auto rows = run(5, "", whole);
    run(2, "", parts);
    const auto rest = run(5, parts, parts);
    REQUIRE(rest.size() == 3);
    for (std::size_t i = 0; i < rest.size(); ++i)
      for (const char* const name : {"epoch", "loss", "test_loss"}) CHECK(rest[i].at(name) == rows[i + 2].at(name));
    CHECK((bytes_of(parts) == bytes_of(whole)));
    CHECK(run(5, parts, "").empty());  // nothing is left to do
    std::filesystem::remove(whole);
    std::filesystem::remove(parts);
  }
}

TEST_CASE("linear: what can't be resumed or saved is told, and no file is written over") {
  Training training;
  LinearSettings& settings = training.settings();
  settings.epochs = 2;
  settings.save = (training.folder().path() / "saved").string();
  training.run(2);
  const std::string good = bytes_of(settings.save);
  const auto expect = [&](const std::vector<std::string>& words, int ranks = 2) {
    const std::string before = bytes_of(settings.save);
    const std::string text = training.error(ranks);
    for (const std::string& word : words) CHECK_THAT(text, Catch::Matchers::Contains(word));
    CHECK((bytes_of(settings.save) == before));
  };
  expect({"saved: is there already", "--resume"});
  settings.resume = training.folder().write("another", good).string();
  expect({"saved: is there already", "--resume"});
  settings.resume = (training.folder().path() / "." / "saved").string();
  CHECK(training.error(2).empty());

  settings.epochs = 4;
  settings.resume = settings.save;
  for (const std::size_t length : {std::size_t{9}, good.size() / 2, good.size() - 1}) {
    training.folder().write("saved", good.substr(0, length));
    expect({"saved: is cut off"});
  }
  training.folder().write("saved", good.substr(0, good.size() - 5) + "damag");
  expect({"saved: is damaged"});
  training.folder().write("saved", "1 2:3\n");
  expect({"saved: is no checkpoint"});
  training.folder().write("saved", good);
  expect({"saved: is of another run", "on each of 2 ranks", "on each of 3 ranks"}, 3);
  settings.loss = &linear_losses()[2];
  expect({"saved: is of another run", "linear logistic, 101 samples", "linear svm, 101 samples"});
  settings.loss = &linear_losses()[1];
  settings.sync = "async-ps";
  expect({"--save and --resume", "async-ps"});

  for (const std::string sync : {"auto", "ps"}) {  // one that computes goes on where two did: the batches are the same
    CAPTURE(sync);
    settings.sync = sync;
    settings.learning_rate = 1e30;
    settings.l2 = 1;
    expect({"not finite any more at epoch 3, step ", "The last checkpoint stays as it was"}, sync == "ps" ? 3 : 2);
  }
  settings.resume.clear();
  settings.save = (training.folder().path() / "nowhere" / "saved").string();
  expect({"nowhere/saved", "can't be written: No such file"});
  CHECK(bytes_of(settings.out).empty());  // no epoch has been made
  settings.save = (training.folder().path() / "never saved").string();
  CHECK_THAT(training.error(2),
             Catch::Matchers::Contains("at epoch 1, ") && Catch::Matchers::Contains("Nothing was saved"));
  CHECK_FALSE(std::filesystem::exists(settings.save));
  settings.save.clear();
  CHECK_THAT(training.error(2), Catch::Matchers::Contains("Nothing was saved"));
}
