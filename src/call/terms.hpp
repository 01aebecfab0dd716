// What a sum's options say, inside the library.
#pragma once

#include <dsop/problem.hpp>

namespace dsop {

/// target = beta target + alpha sum, the sum being scale times that over ranks. What travels of it does so as `wire`
/// says.
struct SumTerms {
  double scale = 1;
  double alpha = 1;
  double beta = 0;
  Wire wire = Wire::full;
};

}  // namespace dsop
