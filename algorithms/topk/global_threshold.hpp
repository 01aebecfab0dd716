// What reaches into Ok-Topk's sum: Li and Hoefler, "Near-Optimal Sparse Allreduce for Distributed Deep Learning" (PPoPP
// 2022), section 3.1.3.
#pragma once

#include "topk/balance_and_allgatherv.hpp"
#include "topk/split_and_reduce.hpp"

namespace dsop::topk {

/// A sum's values are fewer bytes than the elements that it is made of.
inline std::size_t threshold_bytes(const TopKPlan& plan) {
  return Room::bytes<std::byte>(reduced_bytes(plan));
}

/// The cut that leaves k of all sums, or all if they are fewer, but no zeros; its magnitude becomes the state's global
/// threshold. Values are numbered in the order of regions: rank q's are bounds[q] .. bounds[q + 1]. Takes
/// threshold_bytes() of `room`.
template <class T>
selection::Cut<T> th_re_evaluate(TopKCall<T>& call, const Stream<T>& reduced, std::span<std::size_t> bounds,
                                 Room room) {
  number(call.transport, reduced.values.size(), bounds);
  if (bounds.back() * sizeof(T) > reduced_bytes(call.plan))
    sparse::refuse_length(bounds.back() * sizeof(T), reduced_bytes(call.plan));
  const std::span<T> values = room.take<T>(bounds.back());
  for (std::size_t b = 0; b < bounds.size(); ++b) call.blocks.bounds_bytes[b] = bounds[b] * sizeof(T);
  AllgatherCall exchange{call.transport, std::as_writable_bytes(values), call.blocks};
  std::copy(reduced.values.begin(), reduced.values.end(),
            values.subspan(bounds[static_cast<std::size_t>(call.transport.rank())]).begin());
  call.plan.exchange->run(exchange);
  const std::size_t k = std::min(call.plan.problem.k, values.size());
  selection::Cut<T> cut{.key = 0};
  if (k > 0) cut = selection::find_cut<T>(values, k, call.memory);
  call.state.global_threshold = kernels::magnitude_of<T>(cut.key);
  return cut.key > 0 ? cut : selection::Cut<T>{.key = 1};
}

}  // namespace dsop::topk
