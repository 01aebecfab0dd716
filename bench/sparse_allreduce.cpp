#include <algorithm>
#include <cmath>
#include <memory>

#include <dsop/errors.hpp>
#include <dsop/selection.hpp>
#include <dsop/sparse_allreduce.hpp>

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "algorithms/topk/operation.hpp"
#include "collect.hpp"
#include "host.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "vector_benchmarks.hpp"

namespace dsop::bench {
namespace {

bool selects(const std::string& algorithm) {
  return topk_algorithms().find(algorithm.substr(0, algorithm.find('('))) != nullptr;
}

bool sums_all(const std::string& algorithm) {
  return algorithm.starts_with("dense-");
}

// A sum over and over of what this rank has, or selects of its gradient.
struct SparseRow : CallRow {
  SparseRow(Watch& over, std::string name, const SparseBenchOptions& asked)
      : CallRow(over, std::move(name), asked), options(asked) {
    if (options.wire != Wire::full) label.append(":").append(dsop::name(options.wire));
    if (!options.selection.empty()) selection_seconds = [this] { return in_selections_seconds; };
    dense = sums_all(algorithm);
    of_mpi = algorithm == "dense-mpi";
  }

  const SparseBenchOptions& options;
  std::size_t size = 0;
  double density = 0;
  std::size_t k = 0;
  std::size_t held = 0;             // by the rank with the most; what it selected
  std::size_t result_elements = 0;  // that are stored
  bool result_dense = false;
  std::optional<std::size_t> formula_bytes = {};
  double in_selections_seconds = 0;  // so far

  virtual void select() {}
  virtual void sum(Transport& over, bool keeps_result) = 0;

  void run() override {
    if (!options.communication_alone) in_selections_seconds += seconds_of([&] { select(); });
    sum(watch.counted, false);
  }
  void prepare() override {
    reset();
    if (options.communication_alone) select();
  }
  void look(Transport& over) override {
    select();
    sum(over, true);
  }
  // What a call has made, and, if it is to be looked at, where it is kept.
  template <class Sum>
  void take(Sum made, std::optional<Sum>& kept, bool keeps_result) {
    if (!keeps_result) return;
    result_elements = made.sum.values.size();
    result_dense = made.sum.dense();
    used = made.algorithm;
    kept = std::move(made);
  }

  bool given() const { return options.selection.empty(); }
  Columns input() const override {
    return {{"size", 10, "size", size}, {given() ? "k" : "chosen", 9, given() ? "nonzeros" : "chosen", held}};
  }
  Columns results() const override {
    const Columns all{{"result", 12, "", std::to_string(result_elements) + (result_dense ? 'd' : 's')},
                      field("density", density),
                      field("distribution", dsop::bench::name(options.distribution)),
                      field("result_elements", result_elements),
                      field("result_form", result_dense ? "dense" : "sparse"),
                      field("path_bytes", path ? Json(path->bytes) : Json()),
                      field("path_messages", path ? Json(path->messages) : Json()),
                      field("formula_bytes", or_null(formula_bytes))};
    if (given()) return all;
    return all + Columns{{"first(B)", 14, "first_bytes_sent", first ? Json(first->bytes) : Json()},
                         field("selection", options.selection),
                         field("communication_alone", options.communication_alone)};
  }
};

// The elements that differ from a plain sum of what all ranks gave, with ==: values are such that no sum is rounded.
template <class T>
std::size_t count_wrong_in(Transport& transport, const SparseVectorView<T>& sum, const std::vector<T>& given) {
  std::vector<T> difference(sum.dimension);
  sparse::expand<T>(sum, difference);
  std::vector<T> theirs(given.size());
  for (int root = 0; root < transport.size(); ++root) {
    if (root == transport.rank()) theirs = given;
    for (int rank = 0; root == transport.rank() && rank < transport.size(); ++rank)
      if (rank != root) transport.send(std::span<const T>(given), rank);
    if (root != transport.rank()) transport.recv(std::span(theirs), root);
    for (std::size_t i = 0; i < theirs.size(); ++i) difference[i] -= theirs[i];
  }
  return sparse::count_nonzeros<T>(difference);
}

// A sparse allreduce of a sparse vector, of what a selector selects, or, if it is a dense one, of a whole gradient.
template <class T>
struct GivenRow final : SparseRow {
  using SparseRow::SparseRow;

  std::shared_ptr<const SparseVector<T>> vector = {};   // null: there is a gradient
  std::shared_ptr<const std::vector<T>> gradient = {};  // the same
  std::optional<Selector<T>> selector = {};             // none: all is summed
  std::vector<std::uint32_t> indices = {};
  std::vector<T> values = {};
  SparseVectorView<T> own = {};
  std::optional<SparseSum<T>> result = {};  // of the call that is looked at

  void select() override {
    if (!selector) return;
    const std::size_t count = selector->select(*gradient, k, indices, values).chosen;
    own = {gradient->size(), std::span(indices).first(count), std::span(values).first(count)};
  }
  void sum(Transport& over, bool keeps_result) override {
    take(sparse_allreduce<T>(over, own, {algorithm, options.machine, options.wire}), result, keeps_result);
  }
  void describe() override {
    const bool all = selector == std::nullopt && gradient != nullptr;
    SparseProblem problem{.elements = size, .type = data_type<T>};
    problem.nonzeros = of_all_ranks(watch.transport, all ? Sparsity::dense : own.values.size());
    problem.group = {watch.transport.has_native_collectives(), nodes_of_ranks(watch.transport)};
    problem.wire = options.wire;
    const SparsePlan plan = make_sparse_plan(problem, planned_for(), algorithm);
    held = all ? size : problem.largest_nonzeros();
    counted = !plan.algorithm->native();
    formula_bytes = plan.cost().bytes;
    // Of a gradient without the agreement, as of those that select.
    predicted_seconds = gradient ? plan.cost().seconds() : plan.seconds();
    if (algorithm == "auto" && !gradient) reason = plan.reason;
  }
  std::optional<std::size_t> count_wrong() override {
    if (gradient && options.wire == Wire::bf16) return std::nullopt;  // what is rounded off is lost
    std::vector<T> given(size);
    sparse::expand<T>(own, given);
    return count_wrong_in<T>(watch.transport, result->sum, given);
  }
  void settle() override { result.reset(); }
};

// An algorithm of the family "topk".
template <class T>
struct SelectingRow final : SparseRow {
  SelectingRow(Watch& over, const std::string& name, const SparseBenchOptions& asked, std::size_t elements)
      : SparseRow(over, name, asked), calls(elements, {name, asked.machine, asked.wire}, {}) {}

  std::shared_ptr<const std::vector<T>> gradient = {};
  std::vector<T> values = {};  // before a call the gradient, after it the residual
  TopKCalls<T> calls;
  std::optional<TopKSum<T>> result = {};

  void reset() override { values = *gradient; }
  void select() override { calls.select(watch.counted, values, k); }
  void sum(Transport& over, bool keeps_result) override { take(calls.sum(over, values), result, keeps_result); }
  void describe() override {
    held = largest_of_all_ranks(watch.transport, result->chosen);
    const TopKProblem problem{size,
                              k,
                              ranks(),
                              data_type<T>,
                              {watch.transport.has_native_collectives(), nodes_of_ranks(watch.transport)},
                              options.wire};
    predicted_seconds = topk_cost(problem, planned_for(), algorithm).seconds();
  }
  // Nothing is lost: gradients are sum and residuals.
  std::optional<std::size_t> count_wrong() override {
    std::vector<T> given = *gradient;
    for (std::size_t i = 0; i < given.size(); ++i) given[i] -= values[i];
    return count_wrong_in<T>(watch.transport, result->sum, given);
  }
  void settle() override { result.reset(); }
};

template <class T>
Rows rows_of(Watch& watch, std::size_t size, double density, const std::vector<std::string>& algorithms,
             const SparseBenchOptions& options) {
  const auto k = std::max(std::size_t{1}, static_cast<std::size_t>(std::llround(density * static_cast<double>(size))));
  const bool given = options.selection.empty();
  const auto ranks = static_cast<std::size_t>(watch.transport.size());
  const auto bound = static_cast<std::size_t>(static_cast<double>(size) * std::min(1.0, 2 * density));
  check_memory(watch.transport, given ? 6 * size * sizeof(T) + ranks * bound * (sizeof(T) + sizeof(sparse::Index))
                                      : (6 + algorithms.size()) * size * sizeof(T));
  Rows rows;
  launch::on_all_ranks(watch.transport, [&] {
    const int rank = watch.transport.rank();
    std::shared_ptr<SparseVector<T>> vector;
    std::shared_ptr<std::vector<T>> gradient;
    if (given)
      vector = std::make_shared<SparseVector<T>>(rank, size, density, options.distribution);
    else
      gradient = std::make_shared<std::vector<T>>(gradient_like<T>(rank, size, density, options.distribution));
    for (std::size_t i = 0; options.verify && gradient && i < size; ++i)  // so that f32 holds all sums of so few bits
      (*gradient)[i] = static_cast<T>(std::nearbyint((*gradient)[i] * 0x1p16) * 0x1p-16);
    const auto add = [&](auto row) {
      row->size = size;
      row->density = density;
      row->k = k;
      row->gradient = gradient;
      row->bus_bytes = allreduce_bus_bytes(size * sizeof(T), watch.transport.size());
      rows.push_back(std::move(row));
    };
    for (const std::string& algorithm : algorithms) {
      if (gradient && selects(algorithm)) {
        add(std::make_unique<SelectingRow<T>>(watch, algorithm, options, size));
        continue;
      }
      auto row = std::make_unique<GivenRow<T>>(watch, algorithm, options);
      row->vector = vector;
      row->own = given ? vector->view() : SparseVectorView<T>{size, {}, *gradient};
      if (gradient && !sums_all(algorithm)) {
        row->selector.emplace(options.selection);
        row->indices.resize(capacity(k, size));
        row->values.resize(row->indices.size());
      }
      add(std::move(row));
    }
  });
  return rows;
}

// Throws ArgumentError if one is unknown or can't run here.
std::vector<std::string> expand(Transport& transport, const SparseBenchOptions& options) {
  const bool with_topk = !options.selection.empty();
  SparseProblem any{.elements = 1, .nonzeros = std::vector<std::size_t>(static_cast<std::size_t>(transport.size()), 1)};
  any.group.native = transport.has_native_collectives();
  any.wire = options.wire;
  std::vector<std::string> names;
  for (const std::string& name : options.algorithms) {
    if (name == "all") {
      add_all(names, sparse_algorithms(), [&](const SparseAlgorithm& one) { return why_unsupported(one, any); });
      if (with_topk) add_all(names, topk_algorithms(), [](const TopKAlgorithm&) { return std::string(); });
      continue;
    }
    if (with_topk && selects(name))
      parse_topk(name);
    else
      make_sparse_plan(any, transport.default_machine(), name);
    names.push_back(name);
  }
  return names;
}

}  // namespace

void benchmark_sparse_allreduce(Transport& transport, const SparseBenchOptions& options) {
  if (data_is_folded())
    throw ArgumentError("sparse-allreduce: what is sent depends on data, which is there with --real alone");
  const bool given = options.selection.empty();
  if (given) check_can_verify(transport, options, SparseVector<float>::largest);
  if (!given && options.verify && transport.size() > 32)
    throw ArgumentError("--verify compares with ==, expected with --select at most 32 ranks, whose sums f32 holds");
  std::vector<std::string> algorithms;
  launch::on_all_ranks(transport, [&] { algorithms = expand(transport, options); });
  const std::string place = name(options.distribution) + ", " + ranks_and_cores(transport);
  const std::string type(name(options.type));
  const std::string result_note = "result: elements stored of the sum, s sparse or d dense";
  Family family{.name = "sparse-allreduce",
                .title = "sparse-allreduce, " + type + ", elements " + place,
                .notes = {"k: elements of the rank with the most; " + result_note, median_note,
                          predicted_note + " and indices by chance", base_note},
                .method = {.follows_path = true, .first_differs = !given}};
  if (!given) {
    family.name = "topk-allreduce";
    family.title = "sparse-allreduce --select, " + type + ", gradients whose wide elements are " + place;
    family.notes = {
        "sparse allreduces sum what " + options.selection +
            " selects, dense ones all; others select for themselves; times are " +
            (options.communication_alone ? "without" : "with") + " the selection",
        "chosen: by the rank with the most; " + result_note, median_note + " in the second call, first: in the first",
        "predicted: by the algorithm's cost formula, without the selection and the agreements before it", base_note};
  }
  for (const std::size_t size : options.sizes)
    for (const double density : options.densities)
      family.inputs.push_back(
          {std::to_string(size) + " elements, density " + std::to_string(density), [&, size, density](Watch& watch) {
             return visit(options.type,
                          [&]<class T>(T) { return rows_of<T>(watch, size, density, algorithms, options); });
           }});
  benchmark(transport, family, options);
}

}  // namespace dsop::bench
