#include "collectives.hpp"

#include <algorithm>
#include <memory>

#include <dsop/collectives.hpp>
#include <dsop/errors.hpp>

#include "collect.hpp"
#include "host.hpp"
#include "inputs.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "memory/workspace.hpp"

namespace dsop::bench {
namespace {

std::vector<std::string> expand_all(const CollectiveBenchOptions& options, const DenseProblem& any) {
  std::vector<std::string> expanded;
  for (const std::string& name : options.algorithms) {
    if (name != "all") {
      make_dense_plan(algorithms_of(options.operation), any, Machine{}, name);  // refuses what can't run
      expanded.push_back(name);
      continue;
    }
    for (const DenseAlgorithm& algorithm : algorithms_of(options.operation))
      if (algorithm.unsupported(any).empty()) expanded.push_back(algorithm.name);
  }
  return expanded;
}

// Programs compare with the MPI library; where there is none, with what such libraries do for long vectors. The name is
// that by which it was asked for, if it was.
std::string base_of(Collective operation, const std::vector<std::string>& asked, const Transport& transport) {
  const Registry<DenseAlgorithm>& known = algorithms_of(operation);
  const DenseAlgorithm* const base = known.find(transport.has_native_collectives() ? "mpi" : "bidirectional-exchange");
  const auto found =
      std::find_if(asked.begin(), asked.end(), [&](const auto& name) { return known.find(name) == base; });
  return found == asked.end() ? base->name : *found;
}

template <class T>
InputFactors<T> vector_of(int rank, std::size_t size) {
  return {1, rank, 1, size, 0};
}

template <class T>
struct TypedRow final : CallRow {
  TypedRow(Watch& over, std::string name, const CollectiveBenchOptions& asked)
      : CallRow(over, std::move(name), asked), options(asked) {}

  const CollectiveBenchOptions& options;
  DenseProblem problem = {};
  std::shared_ptr<Workspace<T>> memory = {};

  void run() override {
    const CollectiveOptions planned{algorithm, options.machine};
    const std::span<T> data = memory->elements();
    if (options.operation == Collective::allreduce)
      allreduce(watch.counted, data, planned);
    else if (options.operation == Collective::reduce)
      dsop::reduce(watch.counted, data, problem.root, planned);
    else
      broadcast(watch.counted, data, problem.root, planned);
  }

  void reset() override {
    if (!data_is_folded())
      std::ranges::copy_n(vector_of<T>(watch.transport.rank(), problem.elements).view().a.data,
                          static_cast<std::ptrdiff_t>(problem.elements), memory->elements().begin());
  }

  void describe() override {
    const DensePlan plan = make_dense_plan(algorithms_of(options.operation), problem, planned_for(), algorithm);
    used = plan.algorithm_text();
    predicted_seconds = plan.seconds();
    counted = !plan.algorithm->native;
  }

  // Whole numbers, so that a plain sum over all ranks' vectors is the same; of a broadcast, the root's alone.
  std::optional<std::size_t> count_wrong() override {
    if (options.operation == Collective::reduce && watch.transport.rank() != problem.root) return 0;
    const bool of_root = options.operation == Collective::broadcast;
    const std::span<const T> data = memory->elements();
    std::vector<T> expected(problem.elements);
    for (int other = of_root ? problem.root : 0; other < (of_root ? problem.root + 1 : ranks()); ++other) {
      const InputFactors<T> own = vector_of<T>(other, data.size());
      for (std::size_t i = 0; i < data.size(); ++i) expected[i] += own.view().a.data[i];
    }
    std::size_t different = 0;
    for (std::size_t i = 0; i < data.size(); ++i) different += data[i] == expected[i] ? 0 : 1;
    return different;
  }

  void settle() override {
    if (!data_is_folded()) std::ranges::fill(memory->elements(), T{0});  // so that sums of sums stay small
  }

  Columns columns() const override {
    return Columns{{"size", 10, "size", problem.elements}} + call_columns() + Columns{busbw_column(13)} +
           traffic_columns() + comparison_columns() + Columns{field("root", problem.root)} + call_fields();
  }
};

template <class T>
Rows rows_of(Watch& watch, std::size_t size, const std::vector<std::string>& algorithms,
             const CollectiveBenchOptions& options) {
  Transport& transport = watch.transport;
  check_memory(transport, (options.verify ? 4 : 2) * size * sizeof(T));
  const auto memory = std::make_shared<Workspace<T>>();
  launch::on_all_ranks(transport, [&] { memory->resize(size * sizeof(T)); });
  const std::vector<int> nodes = nodes_of_ranks(transport);
  Rows rows;
  for (const std::string& algorithm : algorithms) {
    auto row = std::make_unique<TypedRow<T>>(watch, algorithm, options);
    row->problem = {.elements = size,
                    .ranks = transport.size(),
                    .type = data_type<T>,
                    .group = {transport.has_native_collectives(), nodes},
                    .root = options.root};
    row->memory = memory;
    row->bus_bytes = options.operation == Collective::allreduce
                         ? allreduce_bus_bytes(size * sizeof(T), transport.size())
                         : static_cast<double>(size * sizeof(T));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

void benchmark_collective(Transport& transport, const CollectiveBenchOptions& options) {
  std::vector<std::string> algorithms;
  launch::on_all_ranks(transport, [&] {
    if (options.root < 0 || options.root >= transport.size())
      throw ArgumentError("--root is " + std::to_string(options.root) + ", expected a rank from 0 to " +
                          std::to_string(transport.size() - 1));
    algorithms = expand_all(options, {.elements = options.sizes.front(),
                                      .ranks = transport.size(),
                                      .group = {.native = transport.has_native_collectives()}});
  });
  const Family family{.name = name(options.operation),
                      .title = std::string(name(options.operation)) + ", " + std::string(name(options.type)) +
                               ", root " + std::to_string(options.root) + ", " + ranks_and_cores(transport),
                      .notes = {median_note, predicted_note,
                                "busbw = bytes / median, of an allreduce times 2 (P - 1) / P, as nccl-tests have it"},
                      .base = base_of(options.operation, algorithms, transport)};
  std::vector<Input> inputs;
  for (const std::size_t size : options.sizes)
    inputs.push_back({std::to_string(size) + " elements", [&, size](Watch& watch) {
                        return visit(options.type,
                                     [&]<class T>(T) { return rows_of<T>(watch, size, algorithms, options); });
                      }});
  benchmark(transport, family, {.protocol = options.protocol, .verify = options.verify}, options.out, inputs);
}

}  // namespace dsop::bench
