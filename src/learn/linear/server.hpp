// Parameter servers, which share the weights by range: what their messages hold, and what each keeps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/linear/training.hpp"

namespace dsop::learn {

/// What a worker has to say.
enum class ServerRequest : std::uint64_t {
  needs_weights,  ///< then travel: columns to the server, their weights and a word back, and the gradient there
  ends_epoch,
  leaves,  ///< nothing more comes: something broke, here or, as the word behind the weights said, elsewhere
};

/// A worker sends it to every server.
struct ServerCall {
  ServerRequest request = ServerRequest::needs_weights;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;         ///< from 1
  std::uint64_t broken_step = 0;  ///< that made this worker leave, as its gradient was not finite; 0: none did
  std::uint64_t columns = 0;      ///< in this server's range, that the step's batch has
  std::uint64_t all_samples = 0;  ///< of the whole mini-batch
  EpochPart part = {};            ///< the worker's, so far
};

/// The word behind the weights. After error_has_come the worker leaves once it has sent its gradient, and calls
/// launch::on_all_ranks(), where a server says what broke.
constexpr float no_error = 0;
constexpr float error_has_come = 1;

/// The first weight of server s of S, or the end of those before.
inline std::size_t range_begin(std::size_t features, int servers, int s) {
  return features * static_cast<std::size_t>(s) / static_cast<std::size_t>(servers);
}

/// A server's weights, and what it does with a gradient. Server 0 has room for all, to measure and to save them.
class ServerModel {
 public:
  ServerModel(Transport& transport, const LinearSettings& settings, const LinearData& data, EpochLog& log)
      : transport_(transport),
        settings_(settings),
        data_(data),
        log_(log),
        weights_(is_first() ? data.features : range(transport.rank()).size) {}

  bool is_first() const { return transport_.rank() == 0; }
  /// Of this server's range; a worker's column is a place in it.
  std::span<float> weights() { return std::span(weights_).first(range(transport_.rank()).size); }
  /// Those of all servers after collect() and before hand_out(); of server 0.
  std::span<float> all_weights() { return weights_; }

  /// Server 0 gets all weights, or gives each server its own. All servers call it.
  void collect();
  void hand_out();

  /// Makes the step of one worker's gradient, and `decay_share` of what l2 takes from the weights in a step.
  void step(const ServerCall& call, std::span<const std::uint32_t> columns, std::span<const float> gradient,
            double decay_share);
  /// One row, of the workers' parts and the test with all weights. Throws where check_epoch() does. Server 0 alone has
  /// something to do, after collect().
  void end_epoch(std::size_t epoch, std::vector<EpochPart> parts);
  void show(const ServerCall& call) {
    if (is_first()) log_.show(data_, call.epoch, call.step, call.part);
  }
  /// What the call of a worker that leaves says has broken; empty if it leaves because others do.
  std::string broken(const ServerCall& call) const;

 private:
  struct Range {
    std::size_t begin, size;
  };
  Range range(int s) const {
    const std::size_t begin = range_begin(data_.features, settings_.servers(), s);
    return {begin, range_begin(data_.features, settings_.servers(), s + 1) - begin};
  }

  Transport& transport_;
  const LinearSettings& settings_;
  const LinearData& data_;
  EpochLog& log_;
  std::vector<float> weights_;
};

/// Return when all workers have ended their last epoch. `done`: epochs before the first one. An error is thrown on all
/// ranks, as soon as each worker has asked for weights again or has ended.
void serve_in_step(Transport& transport, ServerModel& model, const LinearSettings& settings, const LinearData& data,
                   std::size_t done);
void serve_as_they_come(Transport& transport, ServerModel& model, const LinearData& data, std::size_t epochs);

}  // namespace dsop::learn
