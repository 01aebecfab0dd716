// What is timed by dsop-bench sparse-allreduce --select.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dsop/selection.hpp>
#include <dsop/sparse_allreduce.hpp>

#include "algorithms/topk/family.hpp"
#include "sparse_allreduce.hpp"
#include "sparse_problems.hpp"

namespace dsop::bench {

/// What a call did on this rank.
struct SelectedSum {
  std::size_t chosen = 0;
  std::size_t result_elements = 0;  ///< that are stored
  bool result_dense = false;
  std::string used = {};
};

/// Selecting about k of a gradient, and summing: both over and over with the same gradient.
class SelectedAllreduce {
 public:
  virtual ~SelectedAllreduce() = default;
  /// Puts the gradient back where the last call left a residual.
  virtual void restore() = 0;
  virtual void select() = 0;
  virtual SelectedSum sum() = 0;
};

inline bool sums_all(const std::string& algorithm) {
  return algorithm.starts_with("dense-");
}

/// A sparse allreduce of what a selector selects; of a dense one's whole gradient.
template <class T>
class SelectedSparse final : public SelectedAllreduce {
 public:
  SelectedSparse(Transport& transport, const std::vector<T>& gradient, std::size_t k, std::string algorithm,
                 const SparseBenchOptions& options)
      : transport_(transport),
        gradient_(gradient),
        k_(k),
        options_{std::move(algorithm), options.machine, options.wire},
        selector_(options.selection),
        own_{gradient.size(), {}, gradient} {
    if (sums_all(options_.algorithm)) return;
    indices_.resize(room_for(k, gradient.size()));
    values_.resize(indices_.size());
  }

  void restore() override {}
  void select() override {
    if (sums_all(options_.algorithm)) return;
    const std::size_t count = selector_.select(gradient_, k_, indices_, values_).chosen;
    own_ = {gradient_.size(), std::span(indices_).first(count), std::span(values_).first(count)};
  }
  SelectedSum sum() override {
    const SparseSum<T> result = sparse_allreduce<T>(transport_, own_, options_);
    return {own_.values.size(), result.sum.values.size(), result.sum.dense(), result.algorithm};
  }

 private:
  Transport& transport_;
  const std::vector<T>& gradient_;
  std::size_t k_;
  SparseAllreduceOptions options_;
  Selector<T> selector_;
  std::vector<std::uint32_t> indices_;
  std::vector<T> values_;
  SparseVectorView<T> own_;
};

/// An algorithm of the family "topk".
template <class T>
class SelectedTopK final : public SelectedAllreduce {
 public:
  SelectedTopK(Transport& transport, const std::vector<T>& gradient, std::size_t k, const std::string& algorithm,
               const SparseBenchOptions& options)
      : transport_(transport),
        gradient_(gradient),
        values_(gradient.size()),
        k_(k),
        calls_(gradient.size(), {algorithm, options.machine, options.wire}, {}) {}

  void restore() override { values_ = gradient_; }
  void select() override { calls_.select(transport_, values_, k_); }
  SelectedSum sum() override {
    const TopKSum<T> result = calls_.sum(transport_, values_);
    return {result.chosen, result.sum.values.size(), result.sum.dense(), result.algorithm};
  }

 private:
  Transport& transport_;
  const std::vector<T>& gradient_;
  std::vector<T> values_;
  std::size_t k_;
  TopKCalls<T> calls_;
};

template <class T>
std::unique_ptr<SelectedAllreduce> make_selected(Transport& transport, const std::vector<T>& gradient, std::size_t k,
                                                 const std::string& algorithm, const SparseBenchOptions& options) {
  if (selects(algorithm)) return std::make_unique<SelectedTopK<T>>(transport, gradient, k, algorithm, options);
  return std::make_unique<SelectedSparse<T>>(transport, gradient, k, algorithm, options);
}

}  // namespace dsop::bench
