// A factor bucket: the outer products of several layers, with one agreement and one allgather of all their factors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dsop/plan.hpp>
#include <dsop/sparse.hpp>

#include "call/planned.hpp"
#include "memory/arena.hpp"

namespace dsop {

/// Of a layer's gradient.
struct GradientSize {
  std::size_t rows;
  std::size_t columns;
};

/// What all ranks know of a bucket before its factors come.
struct FactorBucketProblem {
  std::vector<GradientSize> layers = {};   ///< none is empty
  std::size_t biases = 0;                  ///< that have their column sums of factors that travel anyway
  std::vector<std::size_t> elements = {};  ///< that each rank sends: its factors of all layers, shared ones once
  std::size_t multiplied_elements = 0;     ///< of all ranks' factors, k (n + m) a layer, whether shared or not
  DataType type = DataType::f32;
  Group group = {};
  Wire factor_wire = Wire::full;

  /// Those of each rank's pairs join the bucket.
  void add(const GradientSize& layer, const std::vector<std::size_t>& pairs);
  /// A rank sends a heading of each layer, then a and b of each that are its own, in whole words of 8 bytes.
  std::size_t block_bytes(std::size_t rank) const;
  static std::size_t block_bytes(std::size_t layers, std::size_t element_bytes);

  /// What a rank says of its factors of a layer.
  struct Heading {
    std::uint32_t pairs = 0;
    std::uint16_t a_back = 0;  ///< how many layers before stands the one whose a this is, too; 0: it has its own
    std::uint16_t b_back = 0;
  };
  static constexpr std::size_t most_pairs = std::numeric_limits<std::uint32_t>::max();  ///< of a rank in a layer
  static constexpr std::size_t most_back = 4;  ///< so few are looked through: q, k and v are neighbours
};

/// The only algorithm that a bucket has is `allgather`: in the cheapest way, or in the one that its name says.
struct FactorBucketPlan {
  FactorBucketProblem problem;
  Exchange factors;
  Cost cost;  ///< counts as if each layer had the same number of pairs
};

/// Without communicating. `algorithm` is "auto" or "allgather", or one of the allgathers over a named pattern.
FactorBucketPlan make_factor_bucket_plan(FactorBucketProblem problem, const Machine& machine,
                                         const std::string& algorithm);

/// The name of the algorithm that serves, where `algorithm` was named.
inline const std::string& factor_bucket_text(const std::string& algorithm) {
  static const std::string allgather = "allgather";
  return algorithm == "auto" ? allgather : algorithm;
}

/// The gradient of a layer's bias: the column sums of its errors, of all ranks' pairs.
template <class T>
struct BucketBias {
  MatrixView<T> gradient;  ///< one row
  T alpha;
  T beta;
  bool errors_are_a;  ///< the errors are the layer's a; else its b
};

/// One rank's part in one of the layers of a call.
template <class T>
struct BucketLayer {
  const SparseFactors<T>& factors;  ///< sparse ones keep all layers out of the bucket
  MatrixView<T> gradient;
  T alpha;  ///< of the sum, scale and all
  T beta;
  std::optional<BucketBias<T>> bias = {};
};

struct FactorBucketTerms {
  const std::string& algorithm;
  const std::optional<Machine>& machine;
  double scale;  ///< for the ranks to compare, no more
  Wire factor_wire;
};

/// What a bucket keeps from call to call.
template <class T>
class FactorBucketCalls {
 public:
  /// gradient = alpha sum over ranks of a^T b + beta gradient, for each layer: the same bits on all ranks, and those
  /// that `allgather` gives a layer alone, but where its pairs of all ranks are more than largest_inner_dimension: the
  /// product here is never BLAS's. A factor that a rank gives for several neighbours, as q, k and v have one input,
  /// travels once: it is known by its memory. Arguments are as dsop() checks them, and which alpha and beta is for the
  /// caller to compare. Returns whether the sums were made: nothing has happened, on all ranks, where one of them has
  /// sparse factors, which would travel in full.
  bool run(Transport& transport, const FactorBucketTerms& terms, std::span<const BucketLayer<T>> layers);
  /// The name of the algorithm that made the last sums.
  const std::string& algorithm_text() const { return planned_.last()->text; }
  /// What the last sums were made of, once there were some.
  const FactorBucketProblem& problem() const { return planned_.last()->plan.problem; }
  /// By layer: how many elements all ranks sent for it in those.
  std::span<const std::size_t> elements() const { return elements_; }

 private:
  struct Operation;

  PlannedCalls<Planned<FactorBucketPlan>> planned_{64};
  std::vector<FactorBucketProblem::Heading> headings_;  // of this rank's layers
  std::vector<std::size_t> elements_;
};

}  // namespace dsop
