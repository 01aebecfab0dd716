// The one rule of what may travel rounded.
#pragma once

#include <string>

#include <dsop/problem.hpp>

#include "base/refuse.hpp"

namespace dsop {

/// Throws ArgumentError naming `argument` if elements of `type`, the `elements` of the error, can't travel as `wire`
/// says.
inline void check_wire(const char* argument, Wire wire, DataType type, const char* elements) {
  if (!can_travel_as(wire, type))
    refuse(argument, name(wire), std::string("full for ").append(elements).append(" in ").append(name(type)));
}

}  // namespace dsop
