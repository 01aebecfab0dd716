#include <memory>
#include <optional>
#include <string>

#include <dsop/errors.hpp>

#include "learn/data/drawn_digits.hpp"
#include "learn/data/idx.hpp"
#include "learn/programs/commands.hpp"
#include "learn/programs/train_options.hpp"
#include "learn/tasks/tasks.hpp"

namespace dsop::learn {
namespace {

struct Line {
  TrainOptions train;
  MlpOptions model;
  std::string data;
  std::string test;
  std::string activation = "relu";
};

int run(Line& line) {
  line.model.activation = line.activation == "relu" ? Activation::relu : Activation::tanh;
  line.model.seed = line.train.seed;
  if (!line.data.empty())
    for (const auto& path : digits_files(line.data)) line.train.data.push_back({"DATA", path});
  if (!line.test.empty())
    for (const auto& path : digits_files(line.test)) line.train.data.push_back({"--test", path});
  return run_training(line.train, [&](const Share& share) {
    Digits train = line.data.empty() ? draw_digits(10000, 1) : read_digits(line.data);
    std::optional<Digits> test;
    if (!line.test.empty()) test = read_digits(line.test, DigitsSet::t10k);
    if (test && test->pixels == train.pixels) throw Error("--test has the pictures of DATA, expected others");
    return plan_digits_task(std::move(train), std::move(test), share, line.model);
  });
}

}  // namespace

void add_mlp(CLI::App& app, int& status) {
  const auto line = std::make_shared<Line>();
  CLI::App* const command = app.add_subcommand("mlp", "A perceptron that tells handwritten digits apart");
  command->add_option("DATA", line->data,
                      "Folder with MNIST's files (IDX, gzip'd or plain); without it digits are drawn");
  command->add_option(
      "--test", line->test,
      "Folder with those held out, its t10k files where it has them; without it the last fifth of DATA is");
  command->add_option("--hidden", line->model.hidden, "Widths of the hidden layers, as 4096,4096")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--activation", line->activation, "relu or tanh")
      ->check(CLI::IsMember({"relu", "tanh"}))
      ->capture_default_str();
  line->train.training.learning_rate = 0.05;
  line->train.training.decay = 0.9;
  line->train.add_to(command);
  command->callback([line, command, &status] {
    line->train.settings = launch::settings_of(*command);
    status = run(*line);
  });
}

}  // namespace dsop::learn
