// Three schedules of bulk-synchronous gradient descent: Wang et al. 2016, "Efficient communications in training large
// scale neural networks", algorithms 1 to 3. Gradients travel whole, whatever they are made of: the ranks make their
// own from the factors first.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dsop/collectives.hpp>

#include "learn/strategies/strategy.hpp"

namespace dsop::learn {

std::vector<std::string> schedule_names();

/// `name`:
///   overlap           1: each layer's gradient starts on its way to rank 0 during backpropagation; rank 0 renews the
///                     weights, and each layer's are on their way back until the next forward pass needs them
///   reduce-broadcast  2: all gradients to rank 0, which renews the weights, and these back to all
///   allreduce         3: all gradients to all ranks, which renew the weights alike. Over the MPI library's allreduce,
///                     whose sums may differ by rank, rank 0's go to all every five steps, as in the paper, and in
///                     settle(); sums of dsop's own have the same bits, so there is no need
/// Only rank 0 has an optimiser's memory under the first two. `collective` names the algorithm of each reduce,
/// broadcast or allreduce. All ranks; throws ArgumentError on every rank for another name.
std::unique_ptr<Strategy<float>> make_schedule(const std::string& name, Transport& transport,
                                               std::vector<Parameter<float>*> parameters,
                                               const CollectiveOptions& collective);

}  // namespace dsop::learn
