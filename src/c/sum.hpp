// What sparse and top-k allreduces give.
#pragma once

#include <variant>

#include <dsop/sparse_allreduce.hpp>
#include <dsop/topk_allreduce.hpp>

#include "c/handles.hpp"

namespace dsop::c {

using Sum = std::variant<SparseSum<float>, SparseSum<double>, TopKSum<float>, TopKSum<double>>;

template <>
inline constexpr const char* kind_of<Sum> = "sum";

}  // namespace dsop::c
