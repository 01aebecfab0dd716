// Data and runs for tests of linear models.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <dsop/errors.hpp>
#include <dsop/threads.hpp>

#include "learn/linear/training.hpp"
#include "temporary_folder.hpp"

namespace dsop::learn {

/// Samples of two classes: a feature each that tells them apart, half of the time, and others by chance.
inline std::string two_classes(std::size_t samples, unsigned seed) {
  std::mt19937 random(seed);
  std::ostringstream file;
  for (std::size_t i = 0; i < samples; ++i) {
    const bool positive = random() % 3 == 0;
    file << (positive ? "1" : "-1");
    if (random() % 2 == 0) file << (positive ? " 1:1" : " 2:1");
    std::size_t index = 2;
    for (std::size_t e = 0; e < 5; ++e)
      file << ' ' << (index += 1 + random() % 40) << ':' << static_cast<double>(random() % 7) / 8;
    file << '\n';
  }
  return file.str();
}

/// Trains on ranks that are threads.
class Training {
 public:
  explicit Training(std::size_t samples = 101)
      : settings_{.train = folder_.write("train", two_classes(samples, 1)).string(),
                  .test = folder_.write("test", two_classes(30, 2)).string(),
                  .loss = &linear_losses()[1]} {}

  LinearSettings& settings() { return settings_; }

  /// The rows of a run.
  std::vector<nlohmann::json> run(int ranks) {
    settings_.out = folder_.write("out", "").string();
    std::ostringstream table;
    run_on_threads(ranks, [&](Transport& transport) { train_linear(transport, settings_, table); });
    std::vector<nlohmann::json> rows;
    std::ifstream file(settings_.out);
    for (std::string line; std::getline(file, line);) rows.push_back(nlohmann::json::parse(line));
    return rows;
  }
  /// The words of a run that must fail.
  std::string error(int ranks) {
    try {
      run(ranks);
    } catch (const dsop::Error& error) {
      return error.what();
    }
    return "";
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  LinearSettings settings_;
};

}  // namespace dsop::learn
