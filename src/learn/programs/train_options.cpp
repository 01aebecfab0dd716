#include "learn/programs/train_options.hpp"

#include <limits>
#include <utility>

#include "launch/command_line.hpp"
#include "launch/launch.hpp"
#include "launch/memory.hpp"
#include "learn/data/input_file.hpp"
#include "learn/programs/number_range.hpp"
#include "learn/strategies/schedules.hpp"
#include "synchronizer/policy.hpp"

namespace dsop::learn {
namespace {

constexpr int default_ranks = 4;

std::unique_ptr<Strategy<float>> make_strategy(const TrainOptions& options, Transport& transport, Task& task) {
  SynchronizedOptions synchronized = options.synchronized;
  launch::on_all_ranks(transport, [&] {
    if (!options.machine.empty()) synchronized.machine = read_machine(options.machine);
  });
  if (options.schedule.empty()) return make_synchronized(transport, task.parameters(), synchronized);
  return make_schedule(options.schedule, transport, task.parameters(),
                       {.algorithm = options.collective, .machine = synchronized.machine});
}

/// Throws Error if --out is a file that is read, or the checkpoint that is written.
void check_out(const TrainOptions& options) {
  const NamedFile out{"--out", options.training.out};
  for (const NamedFile& read : options.data) refuse_same_file(out, {read});
  refuse_same_file(
      out, {{"--machine", options.machine}, {"--save", options.training.save}, {"--resume", options.training.resume}});
}

/// For a checkpoint's identity.
std::string identity_of_strategy(const TrainOptions& options) {
  if (!options.schedule.empty()) return "schedule " + options.schedule;
  return options.synchronized.residual_holds_step ? "synchronizer with --residual-holds-step" : "synchronizer";
}

/// Weights, gradients, what is remembered of them, and the samples of a step or an evaluation: --sync may take more.
std::size_t least_bytes(const ModelSize& size, const OptimizerOptions& optimizer) {
  return (size.weights * (2 + memories_of(optimizer)) + size.of_step) * sizeof(float);
}

void run_rank(const TrainOptions& options, const PlanTask& plan_task, Transport& transport) {
  const Share share{static_cast<std::size_t>(transport.rank()), static_cast<std::size_t>(transport.size()),
                    options.batch};
  launch::expect_same_settings(transport, options.settings);
  readers_on_host = launch::ranks_on_this_host(transport).size();
  PlannedTask planned;
  launch::on_all_ranks(transport, [&] {
    if (transport.rank() == 0) check_out(options);
    planned = plan_task(share);
  });
  launch::check_memory(transport, least_bytes(planned.size, options.training.optimizer));
  std::unique_ptr<Task> task;
  launch::on_all_ranks(transport, [&] { task = std::exchange(planned.make, {})(); });  // which holds the data
  launch::expect_same_lines(transport, "the task is " + task->identity().description + "\nwhat is held out is " +
                                           task->identity().held_out + '\n');
  const std::unique_ptr<Strategy<float>> strategy = make_strategy(options, transport, *task);
  const std::string identity = "seed " + std::to_string(options.seed) + "\nbatch " + std::to_string(options.batch) +
                               " on each of " + std::to_string(transport.size()) + " ranks\nstrategy " +
                               identity_of_strategy(options) + '\n';
  train(transport, *task, *strategy, options.training, {identity, launch::options_for_checkpoint(options.settings)});
}

}  // namespace

void TrainOptions::add_to(CLI::App* command) {
  constexpr std::size_t many = std::numeric_limits<std::uint32_t>::max();
  const CLI::Range positive(std::size_t{1}, many);
  const CLI::Validator up_to_one = number_range(0, 1);
  const CLI::Validator any = number_range(0, 1e9);
  OptimizerOptions& optimizer = training.optimizer;
  const auto option = [&](const char* name, auto& value, const char* help) {
    return command->add_option(name, value, help)->capture_default_str();
  };
  launch::add_ranks(command, ranks);
  option("--batch", batch, "Samples of each rank in a step")->check(positive);
  CLI::Option* const epochs =
      option("--epochs", training.epochs,
             "Passes over the training data, each without its last samples if they are too few for a step of all ranks")
          ->check(positive);
  command->add_option("--steps", training.steps, "Steps in all")->check(positive)->excludes(epochs);
  option("--seed", seed, "Of the first weights and the order of samples")->check(not_negative());

  option("--optimizer", optimizer.name, "sgd or adam")->check(CLI::IsMember({"sgd", "adam"}));
  option("--learning-rate", training.learning_rate, "Length of a step")->check(number_range(1e-9, 1e9));
  option("--decay", training.decay, "Multiplies the learning rate after each epoch")->check(up_to_one);
  momentum = option("--momentum", optimizer.momentum, "Of sgd")->check(up_to_one);
  option("--weight-decay", optimizer.weight_decay, "Times a weight is added to its gradient")->check(any);
  option("--clip", optimizer.clip_norm, "Largest norm of all gradients together; 0: any")->check(any);

  CLI::Option* const sync = command->add_option(
      "--sync", synchronized.policies,
      "How gradients are summed: " + synchronizer::policy_forms() + "; PARAMETER=POLICY for one parameter");
  sync->capture_default_str()->allow_extra_args(false);
  option("--sparsify-from", synchronized.sparsify_from, "Weights from which a policy that drops a part is used")
      ->check(not_negative())
      ->needs(sync);
  option("--dense-steps", synchronized.dense_steps,
         "First steps, in which nothing is dropped: such policies sum as dense")
      ->check(not_negative())
      ->needs(sync);
  command->add_option("--xi-every", synchronized.xi_every, "Measure xi in every so many steps; needs --sync ok-topk:..")
      ->check(positive)
      ->needs(sync);
  CLI::Option* const bucket_bytes =
      option("--bucket-bytes", synchronized.bucket_bytes, "Smaller dense gradients travel together; 0: none")
          ->check(not_negative());
  CLI::Option* const with_wire =
      launch::add_choice(command, "--wire", synchronized.wire, Wire::bf16, "full, or bf16: values travel in 16 bits");
  CLI::Option* const no_overlap =
      command->add_flag("!--no-overlap", synchronized.overlap,
                        "Gradients travel after backpropagation, not during it, but those that are dense-overlapped");
  CLI::Option* const holds_step = command->add_flag(
      "--residual-holds-step", synchronized.residual_holds_step,
      "What a policy drops is kept times the learning rate, as Ok-Topk does it; for sgd without --weight-decay");
  CLI::Option* const with_schedule =
      command
          ->add_option("--schedule", schedule,
                       "Instead of --sync: overlap, reduce-broadcast or allreduce, Wang et al.'s algorithms 1, 2, 3")
          ->check(CLI::IsMember(schedule_names()))
          ->excludes(sync)
          ->excludes(bucket_bytes)
          ->excludes(with_wire)
          ->excludes(no_overlap)
          ->excludes(holds_step);
  option("--collective", collective, "Algorithm of the schedule's reduces, broadcasts and allreduces")
      ->needs(with_schedule);
  command->add_option(
      "--machine", machine,
      "Machine description to plan for, as dsop-bench calibrate writes it; without it, over MPI, it is measured");

  command->add_option("--out", training.out, "Append JSON lines to this file: the run, each step, each epoch");
  CLI::Option* const save =
      command->add_option("--save", training.save,
                          "Write a checkpoint to this file after each epoch and at the end; a file that is there "
                          "must be that of --resume");
  command->add_option("--save-every", training.save_every, "And after so many steps")->check(positive)->needs(save);
  command->add_option("--resume", training.resume,
                      "Go on from this checkpoint; says on stderr which options are other ones than its");
}

int run_training(const TrainOptions& options, const PlanTask& plan_task) {
  const OptimizerOptions& optimizer = options.training.optimizer;
  if (options.synchronized.residual_holds_step && (optimizer.name != "sgd" || optimizer.weight_decay > 0))
    throw ArgumentError("--residual-holds-step needs --optimizer sgd without --weight-decay");
  if (optimizer.name != "sgd" && options.momentum->count() > 0) throw ArgumentError("--momentum needs --optimizer sgd");
  return launch::run(
      options.ranks, default_ranks, [&](Transport& transport) { run_rank(options, plan_task, transport); },
      launch::ThreadLevel::multiple);
}

}  // namespace dsop::learn
