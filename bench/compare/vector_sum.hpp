// Rivals that make their own product with dsop's kernel and then sum the matrices as vectors, by somebody's library.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "compare/rival.hpp"
#include "kernels/outer_product.hpp"

namespace dsop::bench::compare {

/// Sums one vector over all ranks, in place.
class VectorSum {
 public:
  virtual ~VectorSum() = default;
  virtual void run() = 0;
  /// The name of the rival that ran last.
  virtual std::string used() const = 0;
};

template <class T>
class ProductThenSum final : public PreparedRival {
 public:
  ProductThenSum(const RivalJob<T>& job, std::unique_ptr<VectorSum> sum)
      : own_(job.own), gradient_(job.gradient), sum_(std::move(sum)) {}

  void run() override {
    kernels::product<T>(own_.a, own_.b, gradient_, T{1}, 0);
    sum_->run();
  }
  std::string used() const override { return sum_->used(); }

 private:
  Factors<T> own_;
  MatrixView<T> gradient_;
  std::unique_ptr<VectorSum> sum_;
};

/// `make_sum(transport, span)` gives the VectorSum for a span of any element type.
template <class MakeSum>
EachType<Rival::PrepareFor> product_then(MakeSum make_sum) {
  return [make_sum]<class T>(const RivalJob<T>& job) {
    const std::span<T> elements(job.gradient.data, job.gradient.rows * job.gradient.columns);
    return std::make_unique<ProductThenSum<T>>(job, make_sum(job.transport, elements));
  };
}

/// 2 k n m of the largest k.
inline double own_product_flops(const Problem& problem) {
  return 2 * static_cast<double>(problem.largest_pairs()) * static_cast<double>(problem.rows) *
         static_cast<double>(problem.columns);
}

}  // namespace dsop::bench::compare
