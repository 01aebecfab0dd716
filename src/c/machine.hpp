#pragma once

#include <dsop/machine.hpp>

#include "c/handles.hpp"

namespace dsop::c {

template <>
inline constexpr const char* kind_of<Machine> = "machine";

}  // namespace dsop::c
