// What a parameter server's messages hold.
#pragma once

#include <cstdint>
#include <vector>

#include "learn/linear/training.hpp"

namespace dsop::learn {

/// Opens what a worker has to say. In a step travel after it: the columns to the server, their weights and a word back,
/// and the gradient's elements there.
struct ServerCall {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;         ///< from 1; 0: the epoch has ended
  std::uint64_t columns = 0;      ///< that the step's batch has
  std::uint64_t all_samples = 0;  ///< of the whole mini-batch
  EpochPart part = {};            ///< the worker's, so far
};

/// The word behind the weights. After `error_follows` the worker calls launch::on_all_ranks(), where the server says
/// what broke.
constexpr float no_error = 0;
constexpr float error_follows = 1;

/// A server's weights, and what it does with a gradient.
class ServerModel {
 public:
  ServerModel(const LinearSettings& settings, const LinearData& data, EpochLog& log)
      : settings_(settings), data_(data), log_(log), weights_(data.features) {}

  std::vector<float>& weights() { return weights_; }

  /// Makes the step of one worker's gradient, and `decay_share` of what l2 takes from the weights in a step. Throws
  /// Error naming epoch and step if an element is not finite.
  void step(const ServerCall& call, std::span<const std::uint32_t> columns, std::span<const float> gradient,
            double decay_share);
  /// One row, of the workers' parts and the test with the weights as they are. Throws where check_epoch() does.
  void end_epoch(std::size_t epoch, std::vector<EpochPart> parts);
  void show(const ServerCall& call) { log_.show(data_, call.epoch, call.step, call.part); }

 private:
  const LinearSettings& settings_;
  const LinearData& data_;
  EpochLog& log_;
  std::vector<float> weights_;
};

/// Return when all workers have ended their last epoch. `done`: epochs before the first one. An error of the model's is
/// thrown on all ranks, as soon as each worker has asked for weights again or has ended.
void serve_in_step(Transport& transport, ServerModel& model, const LinearSettings& settings, const LinearData& data,
                   std::size_t done);
void serve_as_they_come(Transport& transport, ServerModel& model, const LinearData& data, std::size_t epochs);

}  // namespace dsop::learn
