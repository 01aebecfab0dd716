// A model's layers in one step of a synchronizer, which sends what is small together.
#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <sstream>
#include <vector>

#include <dsop/synchronizer.hpp>
#include <dsop/types.hpp>

#include "host.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "outer_product.hpp"

namespace dsop::bench {
namespace {

/// One rank's factors of all layers, and their gradients.
template <class T>
struct Model {
  Model(const std::vector<Point>& layers, int rank) : points(layers) {
    for (const Point& point : points) {
      factors.push_back(factors_of<T>(point, rank));
      gradients.emplace_back(point.rows * point.columns);
    }
  }
  MatrixView<T> gradient(std::size_t i) { return {gradients[i].data(), points[i].rows, points[i].columns}; }

  const std::vector<Point>& points;
  std::vector<InputFactors<T>> factors = {};
  std::vector<std::vector<T>> gradients = {};
};

template <class T>
struct StepRow final : CallRow {
  StepRow(Watch& over, const std::string& policy, const BenchmarkOptions& asked, std::shared_ptr<Model<T>> layers,
          std::string& told)
      : CallRow(over, "synchronizer:" + policy, asked),
        model(std::move(layers)),
        description(told),
        synchronizer(over.counted, {.machine = asked.machine, .wire = asked.wire}) {
    dense = policy == "dense";
    for (std::size_t i = 0; i < model->points.size(); ++i)
      synchronizer.add(name(i), shape_of(model->points[i], Encoding::dense), policy);
  }

  static std::string name(std::size_t layer) { return "layer " + std::to_string(layer + 1); }

  void run() override {
    synchronizer.begin();
    for (std::size_t i = model->points.size(); i-- > 0;)
      synchronizer.give(name(i), model->factors[i].view(), model->gradient(i));
    synchronizer.finish();
  }
  void reset() override {
    if (!asked_for.verify) return;
    for (std::vector<T>& gradient : model->gradients) std::ranges::fill(gradient, std::numeric_limits<T>::quiet_NaN());
  }
  std::optional<std::size_t> count_wrong() override {
    std::size_t different = 0;
    for (std::size_t i = 0; i < model->points.size(); ++i)
      different += count_wrong_rows(model->points[i], ranks(), model->gradient(i));
    return different;
  }
  Columns input() const override { return {{"layers", 9, "layers", model->points.size()}}; }
  Columns results() const override {
    description = synchronizer.describe();
    return {field("description", description)};
  }

  std::shared_ptr<Model<T>> model;
  std::string& description;
  Synchronizer<T> synchronizer;
};

template <class T>
Rows rows_of(Watch& watch, const OuterProductOptions& options, std::string& description) {
  std::size_t needed_bytes = 0;
  for (const auto& [n, m, k, densities] : options.points) needed_bytes += (n * m + k * (n + m)) * sizeof(T);
  check_memory(watch.transport, needed_bytes);
  std::shared_ptr<Model<T>> model;
  launch::on_all_ranks(watch.transport,
                       [&] { model = std::make_shared<Model<T>>(options.points, watch.transport.rank()); });
  Rows rows;
  for (const std::string policy : {"dense", "dsop"})  // the last one's description stays
    rows.push_back(std::make_unique<StepRow<T>>(watch, policy, options, model, description));
  return rows;
}

}  // namespace

void benchmark_layers(Transport& transport, const OuterProductOptions& options) {
  std::string description;
  Family family{.name = "layers",
                .title = "outer-product --layers, all in one step of a Synchronizer, " +
                         std::string(name(options.type)) + ", " + ranks_and_cores(transport),
                .notes = {median_note, base_note}};
  family.inputs.push_back({"all layers in one step", [&](Watch& watch) {
                             return visit(options.type,
                                          [&]<class T>(T) { return rows_of<T>(watch, options, description); });
                           }});
  benchmark(transport, family, options);
  std::istringstream lines(description);
  for (std::string line; std::getline(lines, line);) std::cout << "# " << line << '\n';
  std::cout << std::flush;
}

}  // namespace dsop::bench
