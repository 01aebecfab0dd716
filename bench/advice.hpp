// Whether dsop helps a model: what its layers' sums are predicted to take, by dsop and dense.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "algorithms/outer_product/sharing.hpp"
#include "output.hpp"
#include "plan.hpp"

namespace dsop::bench {

constexpr std::size_t most_batch = 1 << 14;

/// A model as the command line says it.
struct Model {
  std::string widths;  ///< of fully connected layers: "1024-2048-100"
  std::string lstm;    ///< inputs and hidden widths: "512-1024"
  std::size_t time_steps = 35;
  std::size_t batch = 1;  ///< samples of a rank
};

/// The weights of one shape.
struct Layer {
  std::string name;  ///< of the first
  Point point;
  std::size_t pairs_a_sample;
  std::size_t weights = 1;
};

/// Throws ArgumentError naming an option that makes no sense, or if there is no model.
std::vector<Layer> layers_of(const Model& model);

/// What small weights take that share calls, as in a synchronizer's buckets.
struct SharedCalls {
  std::size_t weights = 0;
  std::size_t calls = 0;
  double seconds = 0;  ///< beside a rank's own products
};

struct Advice {
  std::vector<Layer> layers;
  std::vector<Forecast> forecasts;                 ///< one a layer, as if its weights shared no call
  std::vector<outer_product::Shared> shared = {};  ///< one a layer, by dsop
  SharedCalls factors = {}, gradients = {};        ///< by dsop
  double dense_seconds = 0;  ///< of all sums of a step, beside a rank's own products, which a step makes anyway
  double dsop_seconds = 0;

  double gain() const { return dense_seconds / dsop_seconds; }
};

/// `options` say for which ranks and machine. factors_pay_to_pairs is left out of the forecasts.
Advice advice_of(const std::vector<Layer>& layers, const PlanOptions& options);

/// The largest batch a rank with which all sums together gain `least_gain`; 0: none, more than most_batch: any.
std::size_t largest_batch_that_pays(const Model& model, const PlanOptions& options);

}  // namespace dsop::bench
