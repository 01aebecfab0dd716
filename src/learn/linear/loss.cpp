#include "learn/linear/loss.hpp"

#include <cmath>

namespace dsop::learn {
namespace {

double squared(double z, double y) {
  return (z - y) * (z - y) / 2;
}
double squared_slope(double z, double y) {
  return z - y;
}

// log(1 + exp(-y z)), whose exponent does not overflow.
double logistic(double z, double y) {
  return y * z > 0 ? std::log1p(std::exp(-y * z)) : std::log1p(std::exp(y * z)) - y * z;
}
double logistic_slope(double z, double y) {
  return -y / (1 + std::exp(y * z));
}

double hinge(double z, double y) {
  return y * z >= 1 ? 0 : 1 - y * z;
}
double hinge_slope(double z, double y) {
  if (y * z >= 1) return 0;
  return std::isnan(z) ? z : -y;
}

}  // namespace

const std::array<LinearLoss, 3>& linear_losses() {
  static constexpr std::array<LinearLoss, 3> losses{{
      {"least-squares", Labels::numbers, squared, squared_slope},
      {"logistic", Labels::two_classes, logistic, logistic_slope},
      {"svm", Labels::two_classes, hinge, hinge_slope},
  }};
  return losses;
}

}  // namespace dsop::learn
