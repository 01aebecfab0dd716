// Never inlined, so that no compiler moves arithmetic past them.
#include "kernels/float_mode.hpp"

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace dsop::kernels {

#if defined(__x86_64__)
namespace {

constexpr unsigned mode_bits = 0x8000 | 0x6000 | 0x0040;  // flush to zero, rounding, denormals are zero

}  // namespace

std::uint64_t float_mode() {
  return __builtin_ia32_stmxcsr() & mode_bits;
}
void set_float_mode(std::uint64_t mode) {
  __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~mode_bits) | static_cast<unsigned>(mode));
}
#elif defined(__aarch64__)
namespace {

// Default NaN, flush to zero, rounding, FZ16, and AH and FIZ of FEAT_AFP.
constexpr std::uint64_t mode_bits = 1U << 25 | 1U << 24 | 3U << 22 | 1U << 19 | 3U;

std::uint64_t fpcr() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}

}  // namespace

std::uint64_t float_mode() {
  return fpcr() & mode_bits;
}
void set_float_mode(std::uint64_t mode) {
  asm volatile("msr fpcr, %0" : : "r"((fpcr() & ~mode_bits) | mode));
}
#else
static_assert(FE_TONEAREST == 0);

std::uint64_t float_mode() {
  return static_cast<std::uint64_t>(std::fegetround());
}
void set_float_mode(std::uint64_t mode) {
  std::fesetround(static_cast<int>(mode));
}
#endif

}  // namespace dsop::kernels
