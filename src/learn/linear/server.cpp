#include "learn/linear/server.hpp"

#include <algorithm>
#include <memory>

#include "launch/launch.hpp"
#include "learn/layers/finite.hpp"
#include "learn/linear/checkpoint.hpp"

namespace dsop::learn {
namespace {

/// What a worker does with the servers.
class Servers {
 public:
  Servers(Transport& transport, const LinearData& data, int servers)
      : transport_(transport), features_(data.features), parts_(static_cast<std::size_t>(servers)) {}

  void say(ServerCall call) {
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      call.columns = parts_[s].columns.size();
      transport_.send(std::span(&call, 1), static_cast<int>(s));
    }
  }

  /// Asks each server for the weights in its range; false if one says that something broke.
  bool get_weights(ServerCall call, const Batch& batch, std::vector<float>& weights) {
    divide(batch.columns);
    say(call);
    for (std::size_t s = 0; s < parts_.size(); ++s) transport_.send(std::span(parts_[s].columns), static_cast<int>(s));
    weights.clear();
    bool all_well = true;
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      reply_.resize(parts_[s].columns.size() + 1);
      transport_.recv(std::span(reply_), static_cast<int>(s));
      weights.insert(weights.end(), reply_.begin(), reply_.end() - 1);
      all_well = all_well && reply_.back() == no_error;
    }
    return all_well;
  }

  void send_gradient(std::span<const float> gradient) {
    for (std::size_t s = 0; s < parts_.size(); ++s)
      transport_.send(gradient.subspan(parts_[s].first, parts_[s].columns.size()), static_cast<int>(s));
  }

 private:
  struct Part {
    std::size_t first = 0;                    ///< place in the batch's columns
    std::vector<std::uint32_t> columns = {};  ///< places in the server's range
  };

  void divide(std::span<const std::uint32_t> columns) {
    std::size_t first = 0;
    std::size_t begin = 0;
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      const std::size_t end = range_begin(features_, static_cast<int>(parts_.size()), static_cast<int>(s) + 1);
      parts_[s] = {first, {}};
      for (; first < columns.size() && columns[first] < end; ++first)
        parts_[s].columns.push_back(columns[first] - static_cast<std::uint32_t>(begin));
      begin = end;
    }
  }

  Transport& transport_;
  std::size_t features_;
  std::vector<Part> parts_;
  std::vector<float> reply_;
};

void work(Transport& transport, const LinearSettings& settings, const LinearData& data, double reading_seconds,
          std::size_t done) {
  Servers servers(transport, data, settings.servers());
  std::vector<float> own_weights;
  std::vector<float> gradient;
  const auto meet = [&] { launch::on_all_ranks(transport, [] {}); };  // throws what a server has to say
  std::size_t all_steps = done * data.steps;
  for (std::size_t epoch = done + 1; epoch <= settings.epochs; ++epoch) {
    const double reads = epoch == done + 1 ? reading_seconds : 0;
    EpochPart part{.total_seconds = reads, .data_seconds = reads};
    Stopwatch total;
    Stopwatch watch;
    const std::vector<Batch> batches = batches_of_epoch(transport, data, settings, epoch);
    watch.stop(part.data_seconds);
    for (std::size_t step = 1; step <= data.steps; ++step) {
      const Batch& batch = batches[step - 1];
      const double factor = settings.rate(epoch, ++all_steps) / static_cast<double>(batch.all_samples);
      ServerCall call{.epoch = epoch, .step = step, .all_samples = batch.all_samples, .part = part};
      const bool all_well = servers.get_weights(call, batch, own_weights);
      watch.stop(part.communication_seconds);
      part.loss += own_gradient(settings, batch, own_weights, factor, gradient);
      part.samples += batch.rows.count();
      const bool is_finite = all_finite<float>(gradient);
      if (!is_finite) std::fill(gradient.begin(), gradient.end(), 0.0F);
      watch.stop(part.arithmetic_seconds);
      servers.send_gradient(gradient);
      watch.stop(part.communication_seconds);
      if (is_finite && all_well) continue;
      call.request = ServerRequest::leaves;
      if (!is_finite) call.broken_step = step;
      servers.say(call);
      meet();
    }
    total.stop(part.total_seconds);
    servers.say({.request = ServerRequest::ends_epoch, .epoch = epoch, .part = part});
    if (settings.waits_for_all()) meet();
    write_checkpoint(transport, settings, data, epoch, {});
  }
  if (!settings.waits_for_all()) meet();
}

}  // namespace

void ServerModel::collect() {
  if (!is_first()) return transport_.send(std::span<const float>(weights()), 0);
  for (int s = 1; s < settings_.servers(); ++s)
    transport_.recv(all_weights().subspan(range(s).begin, range(s).size), s);
}

void ServerModel::hand_out() {
  if (!is_first()) {
    transport_.recv(weights(), 0);
    return;
  }
  for (int s = 1; s < settings_.servers(); ++s)
    transport_.send(std::span<const float>(all_weights().subspan(range(s).begin, range(s).size)), s);
}

void ServerModel::step(const ServerCall& call, std::span<const std::uint32_t> columns, std::span<const float> gradient,
                       double decay_share) {
  const double rate = settings_.rate(call.epoch, (call.epoch - 1) * data_.steps + call.step);
  update(weights(), {weights().size(), columns, gradient}, rate / static_cast<double>(call.all_samples),
         decay_share * rate * settings_.l2);
}

void ServerModel::end_epoch(std::size_t epoch, std::vector<EpochPart> parts) {
  if (!is_first()) return;
  std::vector<float> own_weights;
  gather(weights_, data_.test.columns, own_weights);
  const Evaluation test = evaluate(data_.test, *settings_.loss, own_weights);
  parts.front().test_loss = test.loss;
  parts.front().test_correct = test.correct;
  check_epoch(epoch, parts, weights_, settings_);
  log_.row(data_, epoch, parts, settings_.l2 == 0 ? 0 : sum_of_squares(weights_));
}

std::string ServerModel::broken(const ServerCall& call) const {
  return call.broken_step == 0 ? "" : loss_not_finite(call.epoch, call.broken_step, settings_);
}

void train_by_servers(Transport& transport, const LinearSettings& settings, const LinearData& data, EpochLog& log,
                      double reading_seconds) {
  const bool serves = transport.rank() < settings.servers();
  std::unique_ptr<ServerModel> model;
  launch::on_all_ranks(transport, [&] {
    if (serves) model = std::make_unique<ServerModel>(transport, settings, data, log);
  });
  const std::size_t done =
      read_checkpoint(transport, settings, data, model ? model->all_weights() : std::span<float>());
  if (serves) model->hand_out();
  if (!serves)
    work(transport, settings, data, reading_seconds, done);
  else if (settings.waits_for_all())
    serve_in_step(transport, *model, settings, data, done);
  else
    serve_as_they_come(transport, *model, data, settings.epochs);
}

}  // namespace dsop::learn
