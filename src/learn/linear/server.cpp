#include "learn/linear/server.hpp"

#include <memory>

#include "launch/launch.hpp"
#include "learn/layers/finite.hpp"
#include "learn/linear/checkpoint.hpp"

namespace dsop::learn {
namespace {

constexpr int server = 0;

void work(Transport& transport, const LinearSettings& settings, const LinearData& data, double reading_seconds,
          std::size_t done, bool waits_for_all) {
  const LinearLoss& loss = *settings.loss;
  std::vector<float> own_weights;
  std::vector<float> gradient;
  const auto meet = [&] { launch::on_all_ranks(transport, [] {}); };  // throws what the server has to say
  const auto call_server = [&](ServerCall call) { transport.send(std::span(&call, 1), server); };
  std::size_t all_steps = done * data.batches.size();
  for (std::size_t epoch = done + 1; epoch <= settings.epochs; ++epoch) {
    const double reads = epoch == done + 1 ? reading_seconds : 0;
    EpochPart part{.total_seconds = reads, .data_seconds = reads};
    Stopwatch total;
    Stopwatch watch;
    const std::vector<std::size_t> order = step_order(data, settings, epoch);
    watch.stop(part.data_seconds);
    for (std::size_t step = 1; step <= order.size(); ++step) {
      const Batch& batch = data.batches[order[step - 1]];
      const double factor = settings.rate(epoch, ++all_steps) / static_cast<double>(batch.all_samples);
      own_weights.resize(batch.columns.size() + 1);
      call_server({epoch, step, batch.columns.size(), batch.all_samples, part});
      transport.send(std::span(batch.columns), server);
      transport.recv(std::span(own_weights), server);
      if (own_weights.back() == error_follows) meet();
      own_weights.pop_back();
      watch.stop(part.communication_seconds);
      part.loss += compute_gradient(batch, loss, own_weights, factor, settings.threads, gradient);
      part.samples += batch.rows.count();
      watch.stop(part.arithmetic_seconds);
      transport.send(std::span(gradient), server);
      watch.stop(part.communication_seconds);
    }
    total.stop(part.total_seconds);
    call_server({.epoch = epoch, .part = part});
    if (waits_for_all) meet();
    write_checkpoint(transport, settings, data, epoch, {});
  }
  if (!waits_for_all) meet();
}

}  // namespace

void ServerModel::step(const ServerCall& call, std::span<const std::uint32_t> columns, std::span<const float> gradient,
                       double decay_share) {
  if (!all_finite<float>(gradient)) throw Error(loss_not_finite(call.epoch, call.step, settings_));
  const double rate = settings_.rate(call.epoch, (call.epoch - 1) * data_.batches.size() + call.step);
  update(weights_, {weights_.size(), columns, gradient}, rate / static_cast<double>(call.all_samples),
         decay_share * rate * settings_.l2);
}

void ServerModel::end_epoch(std::size_t epoch, std::vector<EpochPart> parts) {
  std::vector<float> own_weights;
  gather(weights_, data_.test.columns, own_weights);
  const Evaluation test = evaluate(data_.test, *settings_.loss, own_weights);
  parts.front().test_loss = test.loss;
  parts.front().test_correct = test.correct;
  check_epoch(epoch, parts, weights_, settings_);
  log_.row(data_, epoch, parts, settings_.l2 == 0 ? 0 : sum_of_squares(weights_));
}

void train_by_server(Transport& transport, const LinearSettings& settings, const LinearData& data, EpochLog& log,
                     double reading_seconds, bool waits_for_all) {
  std::unique_ptr<ServerModel> model;
  launch::on_all_ranks(transport, [&] {
    if (transport.rank() == server) model = std::make_unique<ServerModel>(settings, data, log);
  });
  const std::size_t done =
      read_checkpoint(transport, settings, data, model ? std::span(model->weights()) : std::span<float>());
  if (transport.rank() != server)
    work(transport, settings, data, reading_seconds, done, waits_for_all);
  else if (waits_for_all)
    serve_in_step(transport, *model, settings, data, done);
  else
    serve_as_they_come(transport, *model, data, settings.epochs);
}

}  // namespace dsop::learn
