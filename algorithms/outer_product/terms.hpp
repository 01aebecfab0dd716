// What Options say of an outer product's call, inside the library.
#pragma once

#include <optional>
#include <string>

#include <dsop/dsop.hpp>

#include "call/terms.hpp"

namespace dsop {

/// As Options has them; the algorithm and the machine stay the caller's.
struct OuterProductTerms {
  const std::string& algorithm;
  const std::optional<Machine>& machine;
  SumTerms sum = {};
  Wire factor_wire = Wire::full;
  bool allow_native = false;
  bool find_zeros = false;
  bool check_bits = false;
  int tries = 0;
};

inline OuterProductTerms terms_of(const Options& options) {
  return {.algorithm = options.algorithm,
          .machine = options.machine,
          .sum = {options.scale, options.alpha, options.beta, options.wire},
          .factor_wire = options.factor_wire,
          .allow_native = options.allow_native,
          .find_zeros = options.find_zeros,
          .check_bits = options.check_bits,
          .tries = options.tries};
}

}  // namespace dsop
