#include "kernels/outer_product.hpp"

namespace dsop::kernels {

InstructionSet best_instruction_set() {
#if defined(__x86_64__)
  static const InstructionSet best = [] {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma")) return InstructionSet::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return InstructionSet::avx2;
    return InstructionSet::baseline;
  }();
  return best;
#else
  return InstructionSet::baseline;
#endif
}

std::string_view name(InstructionSet set) {
  switch (set) {
    case InstructionSet::avx512:
      return "avx512";
    case InstructionSet::avx2:
      return "avx2";
    case InstructionSet::baseline:
      break;
  }
  return "baseline";
}

}  // namespace dsop::kernels
