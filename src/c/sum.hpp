// What sparse and top-k allreduces give.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <dsop/sparse_allreduce.hpp>
#include <dsop/topk_allreduce.hpp>

#include "base/each_type.hpp"
#include "c/communicator.hpp"
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

/// A sparse or a top-k allreduce. What is wrong with its options is said by the first run, to all ranks.
template <template <class> class Of>
struct AllreduceObject {
  std::shared_ptr<CommunicatorHandle> ranks;
  std::string error = {};
  std::optional<AnyType<Of>> allreduce = {};
};

/// Returns the object once all ranks know that it is right, and that check(*object) throws nothing.
template <class Object, class Check>
std::shared_ptr<Object> checked(Handle allreduce, const Check& check) {
  auto object = find<Object>(allreduce);
  prepared(object->ranks->get(), [&] {
    if (!object->error.empty()) throw ArgumentError(object->error);
    check(*object);
  });
  return object;
}

}  // namespace dsop::c
