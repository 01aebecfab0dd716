#include <algorithm>

#include <dsop/sparse_allreduce.hpp>

#include "launch/launch.hpp"
#include "learn/layers/finite.hpp"
#include "learn/linear/checkpoint.hpp"
#include "learn/linear/training.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::learn {
namespace {

/// "dense:ring" is the sparse family's "dense-ring", "dense" the one of its kind that is predicted to be fastest.
std::string algorithm_of(const LinearSettings& settings, const Transport& transport, std::size_t features) {
  if (settings.sync.starts_with("dense:")) return "dense-" + settings.sync.substr(6);
  if (settings.sync != "dense") return settings.sync;
  const auto ranks = static_cast<std::size_t>(transport.size());
  const SparseProblem weights{.elements = features, .nonzeros = std::vector<std::size_t>(ranks, features)};
  const SparsePlan plan = make_sparse_plan(weights, *settings.machine);
  const auto is_dense = [](const Candidate& candidate) { return candidate.algorithm.starts_with("dense-"); };
  return std::ranges::find_if(plan.candidates, is_dense)->algorithm;
}

}  // namespace

void train_by_allreduce(Transport& transport, const LinearSettings& given, const LinearData& data, EpochLog& log,
                        double reading_seconds) {
  LinearSettings settings = given;
  settings.machine = machine_to_plan_for(transport, given, data);
  const SparseAllreduceOptions options{.algorithm = algorithm_of(settings, transport, data.features),
                                       .machine = settings.machine};
  std::vector<float> weights;
  launch::on_all_ranks(transport, [&] { weights.resize(data.features); });
  std::vector<float> own_weights;
  std::vector<float> gradient;
  const std::size_t done = read_checkpoint(transport, settings, data, weights);
  std::size_t all_steps = done * data.steps;
  for (std::size_t epoch = done + 1; epoch <= settings.epochs; ++epoch) {
    // What `auto` learns from a sum is in no checkpoint: an epoch begins without, interrupted or not.
    SparseAllreduce<float> allreduce(transport, options);
    const double reads = epoch == done + 1 ? reading_seconds : 0;
    EpochPart part{.total_seconds = reads, .data_seconds = reads};
    Stopwatch total;
    Stopwatch watch;
    const std::vector<Batch> batches = batches_of_epoch(transport, data, settings, epoch);
    watch.stop(part.data_seconds);
    for (std::size_t step = 1; step <= data.steps; ++step) {
      const Batch& batch = batches[step - 1];
      const double rate = settings.rate(epoch, ++all_steps);
      const double factor = rate / static_cast<double>(batch.all_samples);
      gather(weights, batch.columns, own_weights);
      part.loss += own_gradient(settings, batch, own_weights, factor, gradient);
      part.samples += batch.rows.count();
      watch.stop(part.arithmetic_seconds);
      const SparseSum<float> total_gradient =
          allreduce.run({.dimension = data.features, .indices = batch.columns, .values = gradient});
      watch.stop(part.communication_seconds);
      if (!all_finite<float>(total_gradient.sum.values))  // so on every rank
        launch::on_all_ranks(transport, [&] { throw Error(loss_not_finite(epoch, step, settings)); });
      update(weights, total_gradient.sum, factor, rate * settings.l2);
      watch.stop(part.arithmetic_seconds);
      if (transport.rank() == 0) log.show(data, epoch, step, part);
    }
    total.stop(part.total_seconds);

    gather(weights, data.test.columns, own_weights);
    const Evaluation test = evaluate(data.test, *settings.loss, own_weights);
    part.test_loss = test.loss;
    part.test_correct = test.correct;
    const std::vector<EpochPart> parts = patterns::of_all_ranks(transport, part);
    launch::on_all_ranks(transport, [&] {
      check_epoch(epoch, parts, weights, settings);
      if (transport.rank() == 0) log.row(data, epoch, parts, settings.l2 == 0 ? 0 : sum_of_squares(weights));
    });
    write_checkpoint(transport, settings, data, epoch, weights);
  }
}

}  // namespace dsop::learn
