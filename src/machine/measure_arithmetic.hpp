// A rank's rates of arithmetic and memory, while all ranks are at it.
#pragma once

#include <span>

#include <dsop/machine.hpp>

#include "machine/measure.hpp"
#include "machine/measured_memory.hpp"
#include "machine/sampling.hpp"

namespace dsop {

/// Sets memory_bytes_per_second by an addition, the two rates of writing by products of one pair, and those of
/// arithmetic by products of own_kernel_pairs and of blas_pairs. Where the writing of a large G is not measured, it is
/// taken to be no faster than the first two rates.
void measure_arithmetic(Sampling& sampling, const Effort& effort, const MeasuredMemory& memory, Machine& machine);

/// Sets each of these rates to its median over all times that it was measured, two at least, and
/// measured_on.arithmetic_spread.
void take_median_arithmetic(std::span<const Machine> measured, Machine& machine);

}  // namespace dsop
