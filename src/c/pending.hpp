#pragma once

#include <dsop/pending.hpp>
#include <memory>
#include <utility>

#include "c/handles.hpp"

namespace dsop::c {

template <>
inline constexpr const char* kind_of<Pending> = "started call";

inline Handle put_pending(Pending pending) {
  return put(std::make_shared<Pending>(std::move(pending)));
}

}  // namespace dsop::c
