#include "advice.hpp"

#include <algorithm>
#include <optional>

#include <dsop/errors.hpp>

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
  Advice advice{layers, {}};
  const std::optional<Rate> rate = options.rates.empty() ? std::nullopt : std::optional(options.rates.front());
  for (const Layer& layer : layers) {
    const Forecast forecast = bench::forecast(options, layer.point, options.ranks.front(), rate);
    const auto [n, m, k, densities] = layer.point;
    const double own = forecast.plan.machine.product_seconds(static_cast<double>(n), static_cast<double>(m),
                                                             static_cast<double>(k), options.type);
    const double dense = forecast.dense.seconds() - own;
    advice.dense_seconds += static_cast<double>(layer.weights) * dense;
    advice.dsop_seconds += static_cast<double>(layer.weights) * std::min(forecast.chosen.seconds() - own, dense);
    advice.forecasts.push_back(forecast);
  }
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
