// All gradients through a Synchronizer, each under a policy of its own; every rank renews its weights.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <dsop/synchronizer.hpp>

#include "learn/strategies/strategy.hpp"

namespace dsop::learn {

struct SynchronizedOptions {
  /// Each a policy for all parameters (the last counts), or NAME=POLICY for one.
  std::vector<std::string> policies = {"dsop"};
  /// Parameters of fewer weights are summed as "dense" instead of under a policy for all that drops a part.
  std::size_t sparsify_from = 0;
  /// In so many first steps what policies drop a part of is summed as "dense", as Ok-Topk's authors' code does.
  std::size_t dense_steps = 0;
  bool overlap = true;
  /// What is dropped is kept times the learning rate of its step, as in Ok-Topk, instead of as it is.
  bool residual_holds_step = false;
  /// Every so many steps of a run the xi of all parameters under ok-topk is measured, which takes dense allreduces; 0:
  /// never.
  std::size_t xi_every = 0;
  std::size_t bucket_bytes = std::size_t{1} << 20;
  std::optional<Machine> machine = std::nullopt;
  Wire wire = Wire::full;
};

/// Communicates; all ranks. Throws ArgumentError on every rank if a policy or a name is unknown, or
/// xi is asked for and no parameter is under ok-topk.
std::unique_ptr<Strategy<float>> make_synchronized(Transport& transport, std::vector<Parameter<float>*> parameters,
                                                   const SynchronizedOptions& options);

}  // namespace dsop::learn
