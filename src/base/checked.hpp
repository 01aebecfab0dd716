// Sizes whose product does not fit.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include <dsop/errors.hpp>

namespace dsop {

/// The product of `factors`, the last of which is the bytes an element. Throws ArgumentError naming `what` above 2^60,
/// more than any machine has and small enough to add several without overflow.
inline std::size_t checked_bytes(std::string_view what, std::initializer_list<std::size_t> factors) {
  double estimate = 1;
  std::size_t bytes = 1;
  for (const std::size_t factor : factors) {
    estimate *= static_cast<double>(factor);
    bytes *= factor;
  }
  if (estimate <= 0x1p60) return bytes;
  std::string product;
  for (const std::size_t factor : factors) product.append(product.empty() ? "" : " x ").append(std::to_string(factor));
  throw ArgumentError(std::string(what) + " of " + product + " bytes does not fit into memory");
}

}  // namespace dsop
