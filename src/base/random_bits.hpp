#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace dsop {

/// 32 that nobody can guess, from the kernel: what std::random_device asks, linked into a wheel, wants glibc 2.36.
inline std::uint32_t random_bits() {
  std::uint32_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != sizeof bits)
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  return bits;
}

}  // namespace dsop
