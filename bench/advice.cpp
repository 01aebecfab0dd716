#include "advice.hpp"

#include <algorithm>
#include <optional>

#include <dsop/errors.hpp>
#include <dsop/synchronizer.hpp>
#include <dsop/types.hpp>

#include "algorithms/dense/operation.hpp"
#include "base/shown.hpp"
#include "lists.hpp"

namespace dsop::bench {
namespace {

/// "1024-2048-100": the widths, at least two, whose products fit.
std::vector<std::size_t> widths(const std::string& option, const std::string& text) {
  std::vector<std::size_t> found;
  for (const std::string& part : split(text, '-')) {
    const bool whole = !part.empty() && part.size() < 9 && part.find_first_not_of("0123456789") == std::string::npos;
    const std::vector<std::size_t> number = whole ? parse_numbers(option, part) : std::vector<std::size_t>();
    if (number.size() != 1 || number[0] > (std::size_t{1} << 24))
      throw ArgumentError(option + " is '" + printable(text) +
                          "', expected widths from 1 to 16777216, as 1024-2048-100");
    found.push_back(number[0]);
  }
  if (found.size() < 2 || found.size() > 1000)
    throw ArgumentError(option + " is '" + printable(text) + "', expected two to a thousand widths, as 1024-2048-100");
  return found;
}

/// Weights of one shape, of each of which so many bytes count in a bucket.
struct Member {
  const Forecast* forecast;
  double own_seconds;  ///< of a rank's product
  std::size_t weights;
  std::size_t bytes;
};

const std::size_t bucket_bytes = SynchronizerOptions{}.bucket_bytes;

/// `seconds_of(bucket)` is what a call takes for those in it, beside their products.
template <class SecondsOf>
SharedCalls in_buckets(const std::vector<Member>& members, const SecondsOf& seconds_of) {
  SharedCalls shared;
  std::vector<const Member*> bucket;
  std::size_t bytes = 0;
  const auto close = [&] {
    if (bucket.empty()) return;
    ++shared.calls;
    shared.weights += bucket.size();
    shared.seconds += seconds_of(bucket);
    bucket.clear();
    bytes = 0;
  };
  for (const Member& member : members)
    for (std::size_t w = 0; w < member.weights; ++w) {
      if (bytes + member.bytes > bucket_bytes) close();
      bucket.push_back(&member);
      bytes += member.bytes;
    }
  close();
  return shared;
}

double gathered_seconds(const std::vector<const Member*>& bucket) {
  std::vector<const Problem*> layers;
  double own_seconds = 0;
  for (const Member* const member : bucket) {
    layers.push_back(&member->forecast->plan.problem);
    own_seconds += member->own_seconds;
  }
  return outer_product::factor_bucket_seconds(layers, bucket[0]->forecast->plan.machine) - own_seconds;
}

double summed_seconds(const std::vector<const Member*>& bucket) {
  const Problem& all = bucket[0]->forecast->plan.problem;
  DenseProblem problem{.ranks = all.ranks(), .type = all.type, .group = {false, all.group.nodes}, .wire = all.wire};
  for (const Member* const member : bucket)
    problem.elements += member->forecast->plan.problem.rows * member->forecast->plan.problem.columns;
  return make_dense_plan(dense_algorithms(), problem, bucket[0]->forecast->plan.machine, "auto").seconds();
}

}  // namespace

std::vector<Layer> layers_of(const Model& model) {
  std::vector<Layer> layers;
  if (!model.widths.empty()) {
    const std::vector<std::size_t> width = widths("--model", model.widths);
    for (std::size_t i = 1; i < width.size(); ++i)
      layers.push_back({"layer " + std::to_string(i), {width[i - 1], width[i], model.batch}, 1});
  }
  if (!model.lstm.empty()) {
    const std::vector<std::size_t> width = widths("--lstm", model.lstm);
    const std::size_t pairs = model.batch * model.time_steps;
    for (std::size_t i = 1; i < width.size(); ++i) {
      layers.push_back(
          {"lstm " + std::to_string(i) + ", inputs", {width[i - 1], 4 * width[i], pairs}, model.time_steps});
      layers.push_back({"lstm " + std::to_string(i) + ", hidden", {width[i], 4 * width[i], pairs}, model.time_steps});
    }
  }
  if (layers.empty()) throw ArgumentError("no model, expected --model 1024-2048-100 or --lstm 512-1024");
  // One line for what is of one shape.
  std::vector<Layer> shapes;
  for (const Layer& layer : layers) {
    const auto same = std::find_if(shapes.begin(), shapes.end(), [&](const Layer& other) {
      return other.point.rows == layer.point.rows && other.point.columns == layer.point.columns &&
             other.point.pairs == layer.point.pairs;
    });
    same == shapes.end() ? shapes.push_back(layer) : void(++same->weights);
  }
  return shapes;
}

Advice advice_of(const std::vector<Layer>& layers, const PlanOptions& options) {
  using outer_product::Shared;
  Advice advice{layers, {}};
  advice.forecasts.reserve(layers.size());
  std::vector<Member> small, factors, gradients;  // small: of those that dense sums share
  const std::optional<Rate> rate = options.rates.empty() ? std::nullopt : std::optional(options.rates.front());
  for (const Layer& layer : layers) {
    const Forecast& forecast =
        advice.forecasts.emplace_back(bench::forecast(options, layer.point, options.ranks.front(), rate));
    const auto [n, m, k, densities] = layer.point;
    const double own = forecast.plan.machine.product_seconds(static_cast<double>(n), static_cast<double>(m),
                                                             static_cast<double>(k), options.type);
    const double dense = forecast.dense.seconds() - own;
    const std::size_t gradient_bytes = n * m * bytes_of(options.type);
    const std::size_t factor_bytes = outer_product::factor_bucket_bytes(forecast.plan.problem, k);
    const Shared shared =
        outer_product::choose_shared(forecast.plan.problem, forecast.plan.machine, "auto", factor_bytes, bucket_bytes);
    advice.shared.push_back(shared);
    if (shared == Shared::factors)
      factors.push_back({&forecast, own, layer.weights, factor_bytes});
    else if (shared == Shared::gradient)
      gradients.push_back({&forecast, own, layer.weights, gradient_bytes});
    else
      advice.dsop_seconds += static_cast<double>(layer.weights) * std::min(forecast.chosen.seconds() - own, dense);
    if (gradient_bytes < bucket_bytes)
      small.push_back({&forecast, own, layer.weights, gradient_bytes});
    else
      advice.dense_seconds += static_cast<double>(layer.weights) * dense;
  }
  advice.factors = in_buckets(factors, gathered_seconds);
  advice.gradients = in_buckets(gradients, summed_seconds);
  advice.dsop_seconds += advice.factors.seconds + advice.gradients.seconds;
  advice.dense_seconds += in_buckets(small, summed_seconds).seconds;
  return advice;
}

std::size_t largest_batch_that_pays(const Model& model, const PlanOptions& options) {
  const auto pays = [&](std::size_t batch) {
    Model other = model;
    other.batch = batch;
    return advice_of(layers_of(other), options).gain() >= least_gain;
  };
  return last_that(pays, most_batch);
}

}  // namespace dsop::bench
