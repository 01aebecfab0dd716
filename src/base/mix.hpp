// Numbers that look random, each a function of another.
#pragma once

#include <cstdint>

namespace dsop {

/// A well-mixed function of its argument (the finaliser of splitmix64).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace dsop
