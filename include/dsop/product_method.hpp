// How a local product is made: what ranks that compute the same element must agree on.
#pragma once

#include <string_view>

namespace dsop {

/// The vector instructions a product may use, in rising order; on other machines than x86-64 only `baseline` exists.
/// avx2 (with fused multiply-add) and avx512 give the same bits as each other, baseline on x86-64 (no fused
/// multiply-add) does not.
enum class InstructionSet : unsigned char { baseline, avx2, avx512 };

/// The best this processor and operating system have.
InstructionSet best_instruction_set();
std::string_view name(InstructionSet set);

/// How a product is made. Ranks that compute the same element must agree on it, or their bits may differ.
struct ProductMethod {
  InstructionSet instructions = best_instruction_set();
  /// OpenBLAS for large K, unless its core has fewer than these `instructions`. False: our kernel for every K, which
  /// sums in an order that depends on K alone, whatever the block shape and threads.
  bool blas_allowed = true;
};

}  // namespace dsop
