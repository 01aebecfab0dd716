#include <memory>
#include <string>

#include "learn/data/characters.hpp"
#include "learn/data/iob.hpp"
#include "learn/programs/commands.hpp"
#include "learn/programs/train_options.hpp"
#include "learn/tasks/tasks.hpp"

namespace dsop::learn {
namespace {

struct Line {
  TrainOptions train;
  LstmOptions model;
  std::string task;
  std::string data;
  std::string test;
};

int run(Line& line) {
  line.model.seed = line.train.seed;
  line.train.data = {{"DATA", line.data}, {"--test", line.test}};
  return run_training(line.train, [&](const Share& share) {
    if (line.task == "characters") return plan_characters_task(read_characters(line.data), share, line.model);
    return plan_sentences_task(read_iob(line.data), read_iob(line.test), share, line.model);
  });
}

}  // namespace

void add_lstm(CLI::App& app, int& status) {
  const auto line = std::make_shared<Line>();
  CLI::App* const command = app.add_subcommand(
      "lstm", "Stacked LSTM that predicts a text's next character, or finds slots and intents of queries");
  const auto option = [&](const char* name, auto& value, const char* help) {
    return command->add_option(name, value, help)->capture_default_str();
  };
  const CLI::Range width(1, 1 << 16);
  command->add_option("DATA", line->data, "characters: a text; atis: .iob to train on")->required();
  command->add_option("--task", line->task, "characters or atis")
      ->check(CLI::IsMember({"characters", "atis"}))
      ->required();
  command->add_option("--test", line->test, "atis: .iob to test with");
  option("--embedding", line->model.embedding, "Width of a symbol's vector")->check(width);
  option("--hidden", line->model.hidden, "Width of a layer")->check(width);
  option("--layers", line->model.layers, "LSTM layers")->check(CLI::Range(1, 100));
  option("--window", line->model.window, "characters: length of a sample")->check(CLI::Range(2, 1 << 20));
  TrainingOptions& training = line->train.training;
  training.optimizer.name = "adam";
  training.optimizer.clip_norm = 1;
  training.learning_rate = 0.003;
  training.decay = 0.9;
  line->train.batch = 8;
  line->train.add_to(command);
  command->callback([line, command, &status] {
    if (line->task == "atis" && line->test.empty()) throw CLI::RequiredError("--test, with --task atis,");
    if (line->task == "characters" && !line->test.empty()) throw CLI::ExcludesError("--task characters", "--test");
    if (line->task == "atis" && command->count("--window") > 0) throw CLI::ExcludesError("--task atis", "--window");
    line->train.settings = launch::settings_of(*command);
    status = run(*line);
  });
}

}  // namespace dsop::learn
