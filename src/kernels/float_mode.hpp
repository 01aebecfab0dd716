// How this thread's processor rounds, and what it makes of denormal numbers.
#pragma once

#include <cstdint>

namespace dsop::kernels {

/// 0: to the nearest, and denormal numbers are kept. Else the bits of MXCSR or FPCR that say otherwise; on other
/// processors than x86-64 and arm64 the rounding of <cfenv> alone.
std::uint64_t float_mode();
/// What else those registers hold, which exceptions trap and which have come, stays.
void set_float_mode(std::uint64_t mode);

/// While it lives, this thread has mode 0. Costs a few nanoseconds, and where it had another some tens.
class DefaultFloatMode {
 public:
  DefaultFloatMode() : before_(float_mode()) {
    if (before_ != 0) set_float_mode(0);
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  ~DefaultFloatMode() {
    if (before_ != 0) set_float_mode(before_);
  }

 private:
  std::uint64_t before_;
};

}  // namespace dsop::kernels
