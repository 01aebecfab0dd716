#include "outer_product.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <sstream>

#include <dsop/errors.hpp>
#include <dsop/types.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "collect.hpp"
#include "compare/rival.hpp"
#include "host.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "memory/workspace.hpp"

namespace dsop::bench {
namespace {

constexpr int largest_product = 16;  // of two factors' elements

// What all contenders work on: one rank's factors in the forms that they are handed, and the gradient.
template <class T>
struct Operands {
  Operands(const Point& point, int rank) : dense(factors_of<T>(point, rank)), a(dense.view().a), b(dense.view().b) {
    gradient.resize(point.rows * point.columns * sizeof(T));
  }

  InputFactors<T> dense;
  Compressed<T> a;
  Compressed<T> b;
  Workspace<T> gradient;
};

template <class T>
struct TypedRow final : OuterProductRow {
  using OuterProductRow::OuterProductRow;

  Point point = {};
  Encoding encoding = Encoding::dense;
  const Rival* rival = nullptr;  // null: dsop's own
  std::shared_ptr<Operands<T>> operands = {};
  std::unique_ptr<OuterProduct<T>> layer = {};   // dsop's own
  std::unique_ptr<PreparedRival> prepared = {};  // a rival
  std::optional<Machine> probed = {};            // where auto_probed is asked for
  std::optional<double> probed_seconds = {};     // predicted for it
  double flops = 0;                              // the busiest rank's; a rival's: of its products

  void run() override {
    if (rival != nullptr)
      prepared->run();
    else if (algorithm == sharded)
      layer->run_sharded(operands->dense.view(), result());
    else if (encoding == Encoding::sparse)
      layer->run({operands->a.view(), operands->b.view()}, G());
    else
      layer->run(operands->dense.view(), G());
  }

  void reset() override {
    if (asked_for.verify) std::ranges::fill(operands->gradient.elements(), std::numeric_limits<T>::quiet_NaN());
  }

  void describe() override {
    if (rival != nullptr) {
      used = prepared->used();
      flops = rival->flops(problem);
      return;
    }
    plan = layer->plan();
    problem = plan->problem;
    used = plan->algorithm_text();
    flops = plan->cost().flops;
    counted = !plan->algorithm->native();
    if (algorithm.starts_with("auto")) reason = plan->reason;
    if (probed) {
      probed_seconds = make_plan(problem, *probed, used).seconds();
      // That which was planned by the probe is shown by the machine that the others are planned by.
      if (asked_for.machine && algorithm == auto_probed) plan = make_plan(problem, *asked_for.machine, used);
    }
    predicted_seconds = plan->seconds();
  }

  std::optional<std::size_t> count_wrong() override {
    return count_wrong_rows(point, ranks(), result(), algorithm == sharded ? bound(0) : 0);
  }

  // In a loop a call follows one like it, or comes where one like it came, and its few factors ride in the agreement.
  // Among calls in an order that is drawn anew they would not.
  void settle() override {
    const auto piggybacks = [](const std::unique_ptr<Row>& row) {
      const std::optional<Plan>& its = static_cast<const OuterProductRow&>(*row).plan;
      return its && its->chosen().piggybacks;
    };
    untimed_calls = !is_simulated() && std::ranges::any_of(*among, piggybacks) ? 2 : 0;
  }

  Columns results() const override {
    const auto bytes = static_cast<double>(problem.rows * problem.columns * sizeof(T));
    const bool split = !samples.message_seconds.empty();
    Columns all{{"p95(us)", 13, "", quantile(samples.observations(), 0.95), microseconds},
                {"algbw(GB/s)", 13, "", bytes / median_seconds(), {1e-9, 3}},
                {"messages(%)", 13, "", split ? Json(samples.message_share()) : Json(), percent},
                {"flops", 12, "flops", flops, {1, 3, true}},
                field("density_a", point.densities.a),
                field("density_b", point.densities.b),
                field("encoding", name(encoding)),
                field("formula_bytes", plan ? Json(plan->cost().bytes) : Json()),
                field("external", !plan),
                field("auto_choice", plan ? Json(without_parameter(plan->auto_choice)) : Json()),
                field("machine", plan ? Json(plan->machine.source) : Json())};
    if (probed_seconds) all.push_back(field("probed_seconds", *probed_seconds));
    return all;
  }

  MatrixView<T> G() const { return {operands->gradient.elements().data(), point.rows, point.columns}; }
  // The rows of G that this rank ends with.
  MatrixView<T> result() const { return algorithm == sharded ? G().row_range(bound(0), bound(1) - bound(0)) : G(); }
  std::size_t bound(int next) const {
    return layer->plan().row_bounds[static_cast<std::size_t>(watch.transport.rank() + next)];
  }
};

template <class T>
Rows rows_of(Watch& watch, const Point& point, const std::vector<EncodedAlgorithm>& asked,
             const BenchmarkOptions& options) {
  Transport& transport = watch.transport;
  const std::vector<std::size_t> pairs(static_cast<std::size_t>(transport.size()), point.pairs);
  const Problem problem{point.rows, point.columns, pairs, data_type<T>, false, {transport.has_native_collectives()}};
  make_plan(problem, transport.default_machine());  // refuses sizes that overflow
  const std::size_t gradient_bytes = point.rows * point.columns * sizeof(T);
  const std::size_t factors_bytes = point.pairs * (point.rows + point.columns) * sizeof(T);
  std::size_t needed_bytes = gradient_bytes + factors_bytes;
  if (options.verify) needed_bytes += factors_bytes * pairs.size();  // every rank makes all ranks' factors
  if (std::ranges::any_of(asked, [](const EncodedAlgorithm& one) { return one.encoding != Encoding::dense; }))
    needed_bytes += 3 * factors_bytes;  // a value, an index and what they grow by
  std::vector<std::unique_ptr<TypedRow<T>>> typed;
  for (const auto& [algorithm, encoding] : asked) {  // before memory is taken: layers refuse sizes that none could hold
    TypedRow<T>& row = *typed.emplace_back(std::make_unique<TypedRow<T>>(watch, algorithm, options));
    row.point = point;
    row.problem = problem;
    row.encoding = encoding;
    row.bus_bytes = allreduce_bus_bytes(gradient_bytes, transport.size());
    row.rival = rivals().find(algorithm);
    row.dense = is_dense(algorithm);
    row.of_mpi = algorithm == mpi_allreduce;
    if (encoding != Encoding::dense) row.label.append(":").append(name(encoding));
    if (row.rival != nullptr) {
      needed_bytes += row.rival->workspace_elements(problem) * sizeof(T);
      row.counted = row.rival->counted;
      continue;
    }
    if (options.wire == Wire::bf16) row.label += ":bf16";
    row.layer = std::make_unique<OuterProduct<T>>(
        watch.counted, shape_of(point, encoding),
        Options{.algorithm = algorithm == sharded || algorithm == auto_probed ? "auto" : algorithm,
                .machine = algorithm == auto_probed ? std::nullopt : options.machine,
                .find_zeros = encoding == Encoding::find_zeros,
                .wire = options.wire});
    needed_bytes += row.layer->plan().workspace_bytes;
  }
  check_memory(transport, needed_bytes);
  std::shared_ptr<Operands<T>> operands;
  launch::on_all_ranks(transport, [&] { operands = std::make_shared<Operands<T>>(point, transport.rank()); });
  std::optional<Machine> probed;
  if (std::ranges::any_of(asked, [](const EncodedAlgorithm& one) { return one.algorithm == auto_probed; }))
    probed = machine(watch.counted);
  Rows rows;
  for (auto& row : typed) {
    row->operands = operands;
    row->probed = probed;
    if (row->rival != nullptr)
      row->prepared =
          row->rival->prepare.template of<T>()({watch.counted, row->problem, operands->dense.view(), row->G()});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Rows outer_product_rows(Watch& watch, const Point& point, const std::vector<EncodedAlgorithm>& asked,
                        const BenchmarkOptions& options) {
  return visit(options.type, [&]<class T>(T) { return rows_of<T>(watch, point, asked, options); });
}

std::string text_of(const Point& point) {
  std::ostringstream text;
  text << point.rows << " x " << point.columns << ", " << point.pairs << " pairs";
  return text.str();
}

Columns shape_columns(const Problem& problem) {
  return {{"rows", 9, "rows", problem.rows},
          {"cols", 9, "columns", problem.columns},
          {"pairs", 7, "pairs", problem.largest_pairs()}};
}

void benchmark_outer_product(Transport& transport, const OuterProductOptions& options) {
  if (data_is_folded() && options.encodings != std::vector{Encoding::dense})
    throw ArgumentError("--encoding: what sparse factors send depends on data, which is there with --real alone");
  for (const Point& point : options.points)
    check_can_verify(transport, options, largest_product * std::max(point.pairs, std::size_t{1}));
  Family family{.name = "outer-product",
                .title = "outer-product, " + std::string(name(options.type)) + ", " + ranks_and_cores(transport),
                .notes = {"median and p95 over iterations of the slowest rank's time; algbw = bytes(G) / median; sent, "
                          "msgs and flops: the busiest rank's",
                          predicted_note,
                          "messages: the share of all ranks' time that is spent sending and waiting; the rest is "
                          "arithmetic",
                          base_note},
                .is_one_step = options.is_a_model,
                .method = {.turns = Method::Turns::of_fastest}};
  std::ostringstream densities;
  densities << "share of elements that are not zero: of a " << options.densities.a << ", of b " << options.densities.b;
  if (options.densities.a < 1 || options.densities.b < 1) family.notes.push_back(densities.str());
  const std::vector<std::string> algorithms = expand_algorithms(transport, options.algorithms, options.wire);
  for (const Point& point : options.points)
    family.inputs.push_back({text_of(point), [&, point](Watch& watch) {
                               return outer_product_rows(watch, point,
                                                         expand_near(transport, algorithms, options.encodings, point,
                                                                     options.type, options.wire, options.machine),
                                                         options);
                             }});
  benchmark(transport, family, options);
  if (options.is_a_model) benchmark_layers(transport, options);
}

}  // namespace dsop::bench
