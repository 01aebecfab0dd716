#include <algorithm>
#include <iostream>
#include <memory>

#include "algorithms/sparse/algorithm.hpp"
#include "base/shown.hpp"
#include "launch/command_line.hpp"
#include "launch/launch.hpp"
#include "launch/settings.hpp"
#include "learn/data/same_file.hpp"
#include "learn/linear/training.hpp"
#include "learn/programs/commands.hpp"
#include "learn/programs/number_range.hpp"

namespace dsop::learn {
namespace {

struct Line {
  LinearSettings settings;
  launch::RankOptions ranks;
  std::string loss = "logistic";
  std::string rate_schedule = "constant";
  std::string machine;
};

/// "dense:NAME" is an algorithm's of the family "dense", "dense" the fastest of these, anything else one of the family
/// "sparse", perhaps with its number, or a name of its own. Empty, or what is wrong.
std::string check_sync(const std::string& sync) {
  const std::string family_name = sync.starts_with("dense:") ? "dense-" + sync.substr(6) : sync;
  if (sync == "auto" || sync == "dense" || servers_of(sync) > 0) return "";
  if (sparse_algorithms().find(family_name.substr(0, family_name.find('('))) != nullptr) return "";
  return "is \"" + shown(sync) +
         "\", expected auto, dense, dense:NAME, ps, ps:SERVERS, async-ps, async-ps:SERVERS or one of " +
         sparse_algorithms().names();
}

int run(Line& line, const launch::Settings& options) {
  line.settings.options = launch::options_for_checkpoint(options);
  const auto& losses = linear_losses();
  line.settings.loss =
      &*std::find_if(losses.begin(), losses.end(), [&](const LinearLoss& loss) { return loss.name == line.loss; });
  if (line.rate_schedule == "1/t") line.settings.rate_schedule = RateSchedule::inverse;
  return launch::run(line.ranks, 4, [&](Transport& transport) {
    launch::expect_same_settings(transport, options);
    LinearSettings settings = line.settings;
    launch::on_all_ranks(transport, [&] {
      if (transport.rank() == 0)
        refuse_same_file({"--out", settings.out}, {{"TRAIN", settings.train},
                                                   {"--test", settings.test},
                                                   {"--machine", line.machine},
                                                   {"--save", settings.save},
                                                   {"--resume", settings.resume}});
      if (!line.machine.empty()) settings.machine = read_machine(line.machine);
    });
    train_linear(transport, settings, std::cout);
  });
}

}  // namespace

void add_linear(CLI::App& app, int& status) {
  const auto line = std::make_shared<Line>();
  LinearSettings& settings = line->settings;
  std::vector<std::string> losses;
  for (const LinearLoss& loss : linear_losses()) losses.emplace_back(loss.name);
  CLI::App* const command =
      app.add_subcommand("linear",
                         "Least squares, logistic regression or a support vector machine, on libsvm files, by plain "
                         "stochastic gradient descent");
  command->option_defaults()->always_capture_default();
  command->add_option("TRAIN", settings.train, "libsvm file to train on; a constant feature in it serves as bias")
      ->required();
  command->add_option("--test", settings.test, "libsvm file to measure accuracy on after each epoch");
  command->add_option("--loss", line->loss, "What is minimised")->check(CLI::IsMember(losses));
  command
      ->add_option("--sync", settings.sync,
                   "auto, dense or dense:NAME (an allreduce of all weights), a sparse allreduce's name, or the first S "
                   "ranks as parameter servers that share the weights: ps or ps:S (default 1), async-ps or async-ps:S "
                   "(never wait for a worker; results differ from run to run)")
      ->check(CLI::Validator([](const std::string& sync) { return check_sync(sync); }, ""));
  command->add_option("--machine", line->machine,
                      "Machine description that --sync auto and dense plan for, as dsop-bench calibrate writes it");
  launch::add_ranks(command, line->ranks);
  command->add_option("--batch", settings.batch, "Samples a rank and step")->check(CLI::Range(1, 1000000000));
  command->add_option("--epochs", settings.epochs, "Passes over the samples")->check(CLI::Range(1, 1000000));
  command->add_option("--learning-rate", settings.learning_rate, "Length of a step")->check(number_range(1e-9, 1e9));
  command
      ->add_option("--rate-schedule", line->rate_schedule,
                   "constant in an epoch (see --decay), or 1/t: --learning-rate divided by the step's number")
      ->check(CLI::IsMember({"constant", "1/t"}));
  command->add_option("--decay", settings.decay, "Multiplies a constant learning rate after each epoch")
      ->check(number_range(1e-6, 1));
  command->add_option("--l2", settings.l2, "Adds this times half the weights' squares to the loss")
      ->check(number_range(0, 1e6));
  command->add_option("--seed", settings.seed, "Of the samples' order")->check(not_negative());
  command
      ->add_option(
          "--threads", settings.threads,
          "Threads of a rank, started in each step: they share its samples, each makes the gradient of its own, and "
          "these are added")
      ->check(CLI::Range(1, 1024));
  command->add_flag(
      "--hogwild", settings.hogwild,
      "Threads of a rank share one gradient and one copy of the weights, which they move without locks and "
      "then throw away; the weights themselves move by the sum of all ranks' gradients. Results differ "
      "from run to run");
  command->add_option("--out", settings.out, "Append one JSON object an epoch to this file");
  command->add_option("--save", settings.save,
                      "Write a checkpoint to this file after each epoch; a file that is there must be that of "
                      "--resume. Not with --sync async-ps");
  command->add_option("--resume", settings.resume,
                      "Go on from this checkpoint, bit by bit as if the run had not been interrupted; with --hogwild "
                      "as near as two runs are; says on stderr which options are other ones than its");
  command->callback([line, command, &status] {
    if (line->rate_schedule == "1/t" && command->count("--decay") > 0)
      throw CLI::ExcludesError("--rate-schedule 1/t", "--decay");
    status = run(*line, launch::settings_of(*command));
  });
}

}  // namespace dsop::learn
