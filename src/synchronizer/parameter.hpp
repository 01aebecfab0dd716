// One parameter: what is known of it, and how its gradient is summed where it goes alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dsop/synchronizer.hpp>

#include "algorithms/outer_product/family.hpp"
#include "algorithms/selection/memory.hpp"
#include "algorithms/sparse/family.hpp"
#include "algorithms/topk/family.hpp"
#include "synchronizer/own_gradient.hpp"
#include "synchronizer/policy.hpp"

namespace dsop::synchronizer {

/// How a gradient is summed, by the policy and by what was given.
enum class Route { outer_product, dense, sparse, top_k, none };

template <class T>
class Parameter {
 public:
  Parameter(std::string name_, const Shape& shape_) : name(std::move(name_)), shape(shape_) {
    if (shape.max_pairs > 0) given.own = SparseFactors<T>(Factors<T>{});
  }

  std::size_t elements() const { return shape.rows * shape.columns; }
  Route route() const;
  /// Only what has this in common shares a bucket.
  std::string company() const { return (policy.at_once ? "overlapped " : "") + dense_algorithm(); }
  std::string dense_algorithm() const { return policy.kind == Kind::dense ? policy.algorithm : "auto"; }

  /// to = factor times what was given, and what was left behind so far. Needs no memory beyond reserve().
  void make_gradient(T factor, MatrixView<T> to) { own_gradient_.make(given, factor, residual, to); }
  /// Takes what make_gradient() needs. Throws std::bad_alloc.
  void reserve() { own_gradient_.reserve(given); }
  /// What was left behind is within the gradient that is summed, so is to be forgotten when the step ends well.
  void forget_residual() { left_behind_ = LeftBehind::nothing; }
  /// The step has ended well on all ranks, or not: then it leaves nothing, and the residual and what belongs to it are
  /// as before.
  void end_step(bool well);

  /// Another policy comes: what the last step did, and planned, is not what the next will do.
  void forget_last_step() {
    last_step = {};
    sparse_ = SparseCalls<T>(false);
  }

  // Of the options, scale, machine and wire play a part.
  void sum_outer_product(Transport& transport, const Options& options);
  void sum_sparse(Transport& transport, const Options& options);
  void sum_selected(Transport& transport, const Options& options);
  void keep_own(Transport& transport, const Options& options);

  /// What a policy that selects works with, from `state` on.
  std::unique_ptr<TopKCalls<T>> make_selecting(const Policy& of, TopKState state, const Options& options) const;
  /// Plans for outer products, which communicates.
  void prepare_outer_product(Transport& transport, const Options& options);

  const Plan& outer_product_plan() const { return outer_product_.plan(); }
  /// Null before a step with it.
  const SparsePlan* sparse_plan() const { return sparse_.plan(); }

  std::string name;
  Shape shape;
  Policy policy = {};
  Given<T> given = {};    ///< in the last step in which it was; before any, of the form that is expected
  bool is_given = false;  ///< in this step
  /// What was left behind up to the last step that ended well: as many elements as the gradient has, or none.
  std::vector<T> residual = {};
  std::unique_ptr<TopKCalls<T>> selecting = {};  ///< under a policy that selects, and with a residual
  ParameterStep last_step = {};

 private:
  /// What is the residual after this step, if it ends well.
  enum class LeftBehind : unsigned char { the_same, nothing, next };

  SparseVectorView<T> sparse_values(T factor);

  LeftBehind left_behind_ = LeftBehind::the_same;
  std::vector<T> next_residual_;  // as large, so that a step costs no copy; what the one before last left
  TopKState state_before_;        // of `selecting`

  OwnGradient<T> own_gradient_;
  OuterProductCalls<T> outer_product_;
  SparseCalls<T> sparse_{false};
  selection::Kept<T> whole_;  // of a gradient with gaps, without
  selection::Kept<T> values_;
  selection::Kept<std::uint32_t> indices_;
};

}  // namespace dsop::synchronizer
