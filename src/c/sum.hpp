// What sparse and top-k allreduces give.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <dsop/sparse_allreduce.hpp>
#include <dsop/topk_allreduce.hpp>

#include "base/each_type.hpp"
#include "c/handles.hpp"
#include "c/pending.hpp"

namespace dsop::c {

struct Sum {
  using Any = AnyType<SparseSum, TopKSum>;

  /// `owner`: what holds a part of it.
  explicit Sum(Any value_, std::shared_ptr<void> owner_ = nullptr, bool is_complete_ = true)
      : value(std::move(value_)), owner(std::move(owner_)), is_complete(is_complete_) {}

  Any value;
  std::shared_ptr<void> owner;
  bool is_complete;  ///< false while the call that makes it may still write to it
};

template <>
inline constexpr const char* kind_of<Sum> = "sum";

template <class Of>
Handle put_sum(Of value, std::shared_ptr<void> owner = nullptr) {
  return put(std::make_shared<Sum>(std::move(value), std::move(owner)));
}

/// Throws ArgumentError if nobody has waited for the call that makes it, or that call has failed.
inline const Sum::Any& value_of(Handle sum) {
  const auto found = find<Sum>(sum);
  if (!found->is_complete)
    throw ArgumentError("sum " + std::to_string(sum) + " is of a started call, expected dsop_wait() before, and " +
                        "that it returned DSOP_SUCCESS");
  return found->value;
}

/// Starts what makes a sum. Returns the call, which ends when nobody holds it any more.
template <class Of, class Start>
std::shared_ptr<Started> start_sum(Handle& sum, Handle& pending, const Start& start,
                                   std::shared_ptr<void> owner = nullptr) {
  auto made = std::make_shared<Sum>(Of{}, std::move(owner), false);
  auto started = std::make_shared<Started>(start(std::get<Of>(made->value)), made, &made->is_complete);
  sum = put(std::move(made));
  pending = put(started);
  return started;
}

}  // namespace dsop::c
