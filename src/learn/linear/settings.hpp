// What a linear model is trained with.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include <dsop/machine.hpp>

#include "learn/linear/loss.hpp"

namespace dsop::learn {

enum class RateSchedule : unsigned char { constant, inverse };

/// The S of "ps:S" and "async-ps:S", 1 without it; 0 of another --sync, also where S is no whole number from 1 on.
int servers_of(const std::string& sync);

struct LinearSettings {
  std::string train = {};   ///< libsvm files
  std::string test = {};    ///< may be empty
  std::string out = {};     ///< may be empty
  std::string save = {};    ///< checkpoint written after each epoch: no file, or that of `resume`; may be empty
  std::string resume = {};  ///< checkpoint to go on from; may be empty
  const LinearLoss* loss = nullptr;
  std::string sync = "auto";
  std::optional<Machine> machine = std::nullopt;  ///< that `auto` and `dense` plan for; see machine_to_plan_for()
  std::size_t batch = 10;                         ///< samples a rank and step
  std::size_t epochs = 10;
  double learning_rate = 1;
  RateSchedule rate_schedule = RateSchedule::constant;
  double decay = 1;
  double l2 = 0;
  std::uint64_t seed = 1;
  std::string options = {};  ///< for RunIdentity; may be empty
  int threads = 1;           ///< of a rank, that share its batch
  bool hogwild = false;      ///< threads share one gradient, without locks: see compute_gradient_by_hogwild()

  std::optional<std::size_t> host_memory_bytes = std::nullopt;  ///< tests lower it; else what is available

  /// Ranks 0 .. servers() - 1 share the weights, and the others compute; 0: every rank has the weights and computes.
  int servers() const { return servers_of(sync); }
  bool has_server() const { return servers() > 0; }
  /// false: a worker waits for no other.
  bool waits_for_all() const { return !sync.starts_with("async-ps"); }

  /// In step `step`, from 1, counted over all epochs, of epoch `epoch`, from 1.
  double rate(std::size_t epoch, std::size_t step) const {
    if (rate_schedule == RateSchedule::inverse) return learning_rate / static_cast<double>(step);
    return learning_rate * std::pow(decay, static_cast<double>(epoch - 1));
  }
};

}  // namespace dsop::learn
