// The state of a linear model's training in a checkpoint's file, between two epochs: how many are done, the machine
// that was planned for (as a machine file, or empty), and the weights. All else that the next epoch needs is a function
// of their number and of the settings.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <dsop/transport.hpp>

#include "learn/linear/data.hpp"
#include "learn/linear/settings.hpp"

namespace dsop::learn {

/// Rank 0 writes `weights` to settings.save, if that is not empty. All ranks call it when they have ended `epoch`.
/// Throws on all ranks, and leaves the file as it was, if it can't be written.
void write_checkpoint(Transport& transport, const LinearSettings& settings, const LinearData& data, std::size_t epoch,
                      std::span<const float> weights);

/// Sets `weights` from settings.resume, if that is not empty, and returns how many epochs are done. Rank 0 reads the
/// file, which no other host need have, and says so if no epoch is left, and what options are other ones; where ranks
/// have a server, which it is, only its weights are set. All ranks call it. Throws on all ranks where CheckpointReader
/// does.
std::size_t read_checkpoint(Transport& transport, const LinearSettings& settings, const LinearData& data,
                            std::span<float> weights);

/// The machine that `--sync auto` and `dense` plan for: that of the settings, else of settings.resume, else that of
/// machine(transport); none where nothing is chosen by it. All ranks call it, and throws on all.
std::optional<Machine> machine_to_plan_for(Transport& transport, const LinearSettings& settings,
                                           const LinearData& data);

}  // namespace dsop::learn
