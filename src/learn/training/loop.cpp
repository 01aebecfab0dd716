#include "learn/training/loop.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <dsop/errors.hpp>

#include "base/hexadecimal.hpp"
#include "base/mix.hpp"
#include "call/same_bits.hpp"
#include "call/start_call.hpp"
#include "launch/launch.hpp"
#include "learn/layers/finite.hpp"
#include "learn/training/checkpoint.hpp"
#include "learn/training/metrics.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::learn {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string description_of(const OptimizerOptions& options) {
  return options.name + (options.name == "sgd" && options.momentum == 0 ? " without momentum" : "");
}

OptimizerOptions for_strategy(OptimizerOptions options, const Strategy<float>& strategy) {
  options.sums_in_gradients = strategy.traits.sums_in_gradients;
  return options;
}

class Training {
 public:
  Training(Transport& transport, Task& task, Strategy<float>& strategy, const TrainingOptions& options,
           const RunIdentity& run)
      : transport_(transport),
        task_(task),
        strategy_(strategy),
        options_(options),
        optimizer_(make_optimizer<float>(task.parameters(), for_strategy(options.optimizer, strategy))),
        saved_{{task.identity().description + '\n' + run.identity + "optimizer " + description_of(options.optimizer) +
                    '\n',
                run.options},
               *optimizer_,
               strategy_},
        last_step_(options.steps.value_or(options.epochs * task.steps_per_epoch())) {
    launch::on_all_ranks(transport, [&] {
      if (!(options.save.empty() && options.resume.empty()) && !strategy.traits.keeps_ranks_equal)
        throw ArgumentError(
            "--save and --resume need weights that are equal on all ranks; --sync none lets them drift apart");
      if (transport.rank() == 0) save_lock_ = check_save(options.save, options.resume);
      metrics_ = std::make_unique<Metrics>(transport.rank() == 0, options.out);
    });
  }

  void run() {
    if (!options_.resume.empty()) progress_ = read_checkpoint(transport_, options_.resume, saved_);
    say_what_runs();
    check_metrics();
    if (progress_.step >= last_step_ && transport_.rank() == 0) say_nothing_is_left(options_.resume, asked_for());
    epoch_start_ = Clock::now();
    while (progress_.step < last_step_) {
      OwnReport own = step();
      if (reported_) collect();
      report(std::move(own));
      const std::size_t done = ++progress_.step;
      const bool ends_epoch = done % task_.steps_per_epoch() == 0;
      const bool ends = ends_epoch || done == last_step_;
      const bool saves =
          !options_.save.empty() && (ends || (options_.save_every > 0 && done % options_.save_every == 0));
      if (ends || saves) settle();
      if (ends) end_epoch(ends_epoch);
      if (saves) {
        write_checkpoint(transport_, options_.save, progress_, saved_);
        has_saved_ = true;
      }
      if (ends || saves) check_metrics();
    }
  }

 private:
  std::string asked_for() const {
    return options_.steps ? std::to_string(*options_.steps) + " steps" : std::to_string(options_.epochs) + " epochs";
  }

  void check_metrics() {
    launch::on_all_ranks(transport_, [&] { metrics_->check(); });
  }

  std::size_t epoch() const { return progress_.step / task_.steps_per_epoch(); }

  OwnReport step() {
    const double rate = options_.learning_rate * std::pow(options_.decay, static_cast<double>(epoch()));
    const double communication_before = strategy_.report().communication_seconds;
    const double selection_before = strategy_.report().selection_seconds;
    const Clock::time_point start = Clock::now();

    OwnReport own;
    own.step = progress_.step + 1;
    own.epoch = epoch() + 1;
    strategy_.begin(rate);
    optimizer_->begin(strategy_.traits.gradients_hold_rate ? 1 : rate);
    own.loss = task_.forward(epoch(), progress_.step % task_.steps_per_epoch(), strategy_);
    if (!std::isfinite(own.loss)) own.broken_layer = task_.not_finite();
    task_.backward(strategy_);
    strategy_.finish();
    if (strategy_.traits.updates_weights) update_weights(rate);
    strategy_.share_weights();

    own.communication_seconds = strategy_.report().communication_seconds - communication_before;
    own.selection_seconds = strategy_.report().selection_seconds - selection_before;
    own.arithmetic_seconds = seconds_since(start) - own.selection_seconds - own.communication_seconds;
    own.selected = strategy_.report().selected;
    return own;
  }

  void update_weights(double rate) {
    const std::vector<Parameter<float>*>& parameters = optimizer_->parameters();
    if (options_.optimizer.clip_norm > 0) {
      for (Parameter<float>* const p : parameters) strategy_.need_sum(*p);
      clip_gradients(parameters, options_.optimizer.clip_norm * (strategy_.traits.gradients_hold_rate ? rate : 1));
    }
    for (std::size_t p = parameters.size(); p-- > 0;) {  // in the order of backpropagation
      strategy_.need_sum(*parameters[p]);
      optimizer_->update(p);
    }
  }

  /// A step's report is started when the step ends and collected when the next one does: between a step's last message
  /// and the first layer that needs what it brings nothing is waited for.
  void report(OwnReport own) {
    reported_ = std::move(own);
    started_report_ = Pending(
        start_call(transport_, [this] { reports_ = patterns::of_all_ranks<RankReport>(transport_, *reported_); }));
  }
  void collect() {
    started_report_.wait();
    const OwnReport own = *std::exchange(reported_, std::nullopt);
    double loss = 0;
    for (const RankReport& rank : reports_) loss += rank.loss;
    if (!std::isfinite(loss)) stop_at(own);
    progress_.epoch_loss += loss;
    metrics_->step(own, reports_, loss, task_.samples_per_step(), last_step_);
  }

  [[noreturn]] void stop_at(const OwnReport& own) {
    const auto broken = std::ranges::find_if(reports_, [](const auto& rank) { return !std::isfinite(rank.loss); });
    const auto first = broken != reports_.end() ? broken - reports_.begin() : 0;  // 0 where only the sum is not finite
    std::ostringstream what;
    what << "the loss is " << own.loss;
    if (!own.broken_layer.empty()) what << ", and the first layer whose result is not finite is " << own.broken_layer;
    const Error error(why_it_stops(own.step, what.str()));
    launch::on_all_ranks(transport_, [&] {
      if (transport_.rank() == first) throw error;
    });
    throw error;  // not reached: all ranks have thrown
  }

  std::string why_it_stops(std::size_t step, const std::string& what) const {
    return "step " + std::to_string(step) + ": " + what + "; a smaller --learning-rate, or --clip, may help. " +
           what_is_left(options_.save, options_.resume, has_saved_);
  }

  /// Waits for all values, which must be finite, and for what the ranks say about the step.
  void settle() {
    collect();
    strategy_.settle();
    launch::on_all_ranks(transport_, [&] {
      for (const Parameter<float>* const p : optimizer_->parameters())
        if (!all_finite<float>(p->value.view()))
          throw Error(why_it_stops(progress_.step, "weights of " + p->name + " are not finite any more"));
    });
  }

  void end_epoch(bool ends_epoch) {
    const std::string hash = common_hash();
    const Scores scores = task_.evaluate(transport_, strategy_);
    launch::on_all_ranks(transport_, [&] {
      for (const auto& [name, value] : scores)
        if (!std::isfinite(value)) throw Error(why_it_stops(progress_.step, name + " is " + std::to_string(value)));
    });
    const std::size_t steps = (progress_.step - 1) % task_.steps_per_epoch() + 1;
    const double mean_loss = progress_.epoch_loss / static_cast<double>(steps);
    metrics_->epoch((progress_.step - 1) / task_.steps_per_epoch() + 1, progress_.step, mean_loss,
                    seconds_since(epoch_start_), scores, hash);
    if (ends_epoch) progress_.epoch_loss = 0;
    epoch_start_ = Clock::now();
  }

  /// Of all weights; throws on every rank if the ranks' differ though they should not.
  std::string common_hash() {
    std::uint64_t hash = 0;
    for (const Parameter<float>* const p : optimizer_->parameters()) {
      const std::uint64_t own = hash_of_bits<float>(p->value.view());
      if (strategy_.traits.keeps_ranks_equal) check_equal(p->name, own);
      hash = mix(hash ^ own);
    }
    return hexadecimal(hash);
  }

  void check_equal(const std::string& name, std::uint64_t own_hash) {
    const std::vector<std::uint64_t> hashes = patterns::of_all_ranks(transport_, own_hash);
    if (std::ranges::all_of(hashes, [&](std::uint64_t hash) { return hash == hashes[0]; })) return;
    launch::on_all_ranks(transport_, [&] {
      if (own_hash != hashes[0])
        throw Error("step " + std::to_string(progress_.step) + ": weights of " + name + " are not those of rank 0. " +
                    what_is_left(options_.save, options_.resume, has_saved_));
    });
  }

  void say_what_runs() {
    std::size_t weights = 0;
    for (const Parameter<float>* const p : optimizer_->parameters()) weights += p->value.elements().size();
    nlohmann::ordered_json what{{"task", task_.identity().description},
                                {"weights", weights},
                                {"ranks", transport_.size()},
                                {"transport", transport_.name()},
                                {"samples_per_step", task_.samples_per_step()},
                                {"steps_per_epoch", task_.steps_per_epoch()},
                                {"optimizer", description_of(options_.optimizer)},
                                {"learning_rate", options_.learning_rate}};
    if (progress_.step > 0) what["resumed_after_step"] = progress_.step;
    metrics_->run(what, strategy_.describe());
  }

  Transport& transport_;
  Task& task_;
  Strategy<float>& strategy_;
  const TrainingOptions& options_;
  std::unique_ptr<Optimizer<float>> optimizer_;
  Saved saved_;
  std::size_t last_step_;
  std::unique_ptr<PathLock> save_lock_;
  std::vector<RankReport> reports_;  // of the step that was collected last, or is on its way
  std::optional<OwnReport> reported_;
  Pending started_report_;
  std::unique_ptr<Metrics> metrics_;
  Progress progress_;
  bool has_saved_ = false;
  Clock::time_point epoch_start_;
};

}  // namespace

void train(Transport& transport, Task& task, Strategy<float>& strategy, const TrainingOptions& options,
           const RunIdentity& run) {
  Training(transport, task, strategy, options, run).run();
}

}  // namespace dsop::learn
