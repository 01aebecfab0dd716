#include "kernels/bf16.hpp"

#include <cstddef>

namespace dsop::kernels {

void round_to_bf16(std::span<Bf16> out, std::span<const float> in) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = rounded(in[i]);
}

void widen(std::span<float> out, std::span<const Bf16> in) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = widened(in[i]);
}

void add_widened(std::span<float> sum, std::span<const Bf16> in) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += widened(in[i]);
}

}  // namespace dsop::kernels
