#include "kernels/blas_info.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace dsop::kernels {

bool blas_keeps_up_with(InstructionSet instructions) {
  static const bool is_there = has_blas();
  static const InstructionSet of_blas = instructions_of_blas(blas_core_name());
  return is_there && instructions <= of_blas;
}

InstructionSet instructions_of_blas(std::string_view blas_core) {
  constexpr std::array<std::string_view, 3> avx512{"skylakex", "cooperlake", "sapphirerapids"};
  constexpr std::array<std::string_view, 3> avx2{"haswell", "zen", "excavator"};
  std::string name(blas_core);  // in capitals where OpenBLAS is built for one processor
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::ranges::find(avx512, name) != avx512.end()) return InstructionSet::avx512;
  return std::ranges::find(avx2, name) != avx2.end() ? InstructionSet::avx2 : InstructionSet::baseline;
}

}  // namespace dsop::kernels
