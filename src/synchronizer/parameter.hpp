// One parameter: what is known of it, what was given for it and what was left behind.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <dsop/synchronizer.hpp>

#include "synchronizer/own_gradient.hpp"
#include "synchronizer/policy.hpp"

namespace dsop::synchronizer {

using Clock = std::chrono::steady_clock;

struct Interval {
  Clock::time_point first = {};
  Clock::time_point last = {};

  /// How long it lasted from `start` on.
  double seconds_since(Clock::time_point start) const {
    return std::chrono::duration<double>(last - std::clamp(start, first, last)).count();
  }
};

template <class T>
class Parameter {
 public:
  Parameter(std::string name_, const Shape& shape_) : name(std::move(name_)), shape(shape_) {
    if (shape.max_pairs > 0) given.own = SparseFactors<T>(Factors<T>{});
  }

  std::size_t elements() const { return shape.rows * shape.columns; }

  /// Whether the one call leaves both sums.
  bool bias_follows() const { return bias != nullptr && bias->follows; }
  /// For whom that call is.
  std::string names() const { return bias_follows() ? name + ", " + bias->name : name; }

  /// to = factor times what was given, and what was left behind so far. Needs no memory beyond reserve().
  void make_gradient(T factor, MatrixView<T> to) { own_gradient_.make(given, factor, residual, to); }
  /// Takes what make_gradient() needs. Throws std::bad_alloc.
  void reserve() { own_gradient_.reserve(given); }
  /// The residual is a part of the gradient that is summed, so it is dropped if the step ends well.
  void forget_residual() { left_behind_ = LeftBehind::nothing; }
  /// As many elements as the gradient has, to become the residual if the step ends well and keep_next_residual() was
  /// called. Throws std::bad_alloc.
  std::span<T> next_residual() {
    next_residual_.resize(elements());
    return next_residual_;
  }
  void keep_next_residual() { left_behind_ = LeftBehind::next; }
  /// The step has ended well on all ranks, or not: then it leaves nothing, and the residual and what belongs to it are
  /// as before.
  void end_step(bool well) {
    const LeftBehind left_behind = std::exchange(left_behind_, LeftBehind::the_same);
    policy.how->end_step(well);
    if (!well) {
      last_step = {};
    } else if (left_behind == LeftBehind::next) {
      residual.swap(next_residual_);
    } else if (left_behind == LeftBehind::nothing) {
      residual = std::vector<T>();
      next_residual_ = std::vector<T>();
    }
  }

  /// `factor` times what was given is the sum for the target. Needs no memory beyond reserve().
  void keep_own(T factor) { own_gradient_.update_target(given, factor); }

  std::string name;
  Shape shape;
  NamedPolicy<T> policy = {};
  Given<T> given = {};                ///< in the last step in which it was; before any, of the form that is expected
  bool is_given = false;              ///< in this step
  bool ends_bucket = false;           ///< in the last good step that had it, no other of its kind of bucket came later
  std::size_t most_pairs = 0;         ///< that some rank has said it may give as factors
  Parameter* bias = nullptr;          ///< the one whose gradient are the column sums of this one's errors
  const Parameter* weight = nullptr;  ///< of a bias
  bool errors_are_a = false;          ///< of a bias: the weight's factor that holds the errors is a; else b
  bool follows = false;  ///< of a bias: it was given in this step, and is made of the weight's errors when these come
  /// What was left behind up to the last step that ended well: as many elements as the gradient has, or none.
  std::vector<T> residual = {};
  ParameterStep last_step = {};
  Interval selection = {};  ///< when this rank last chose elements, under a policy that selects

 private:
  /// What is the residual after this step, if it ends well.
  enum class LeftBehind : unsigned char { the_same, nothing, next };

  LeftBehind left_behind_ = LeftBehind::the_same;
  std::vector<T> next_residual_;  // as large, so that a step costs no copy; what the one before last left
  OwnGradient<T> own_gradient_;
};

}  // namespace dsop::synchronizer
