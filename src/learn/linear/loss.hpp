// What linear models minimise (Renggli 2017, section 2.2): a function of a sample's score z = w . x and its label y.
#pragma once

#include <array>

#include "learn/data/libsvm.hpp"

namespace dsop::learn {

struct LinearLoss {
  const char* name;
  Labels labels;  ///< two_classes: y is -1 or 1, and z's sign is the class
  double (*value)(double z, double y);
  double (*slope)(double z, double y);  ///< derivative by z
};

/// Least squares, logistic regression, the support vector machine's hinge. A score that is no number has a value and a
/// slope that are none. An infinite one has, with two classes, a finite slope, and the value 0 on its label's side.
const std::array<LinearLoss, 3>& linear_losses();

}  // namespace dsop::learn
