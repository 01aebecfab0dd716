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
#include "vector_benchmarks.hpp"

namespace dsop::bench {
namespace {

std::vector<std::string> expand(const CollectiveBenchOptions& options, const Transport& transport) {
  const Registry<DenseAlgorithm>& known = algorithms_of(options.operation);
  const DenseProblem any{.elements = options.sizes.front(),
                         .ranks = transport.size(),
                         .group = {.native = transport.has_native_collectives()}};
  std::vector<std::string> names;
  for (const std::string& name : options.algorithms) {
    if (name == "all") {
      add_all(names, known, [&](const DenseAlgorithm& algorithm) { return algorithm.unsupported(any); });
      continue;
    }
    make_dense_plan(known, any, Machine{}, name);  // refuses what can't run
    names.push_back(name);
  }
  return names;
}

template <class T>
InputFactors<T> vector_of(int rank, std::size_t size) {
  return {1, rank, 1, size, 0};
}

template <class T>
struct TypedRow final : CallRow {
  TypedRow(Watch& over, const std::string& name, const CollectiveBenchOptions& asked, const DenseProblem& of)
      : CallRow(over, name, asked), options(asked), problem(of) {
    const auto bytes = problem.elements * sizeof(T);
    bus_bytes =
        options.operation == Collective::allreduce ? allreduce_bus_bytes(bytes, ranks()) : static_cast<double>(bytes);
    dense = name != "auto";
    of_mpi = name == "mpi";
  }

  const CollectiveBenchOptions& options;
  DenseProblem problem;
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
    std::vector<T> expected(problem.elements);
    for (int other = of_root ? problem.root : 0; other < (of_root ? problem.root + 1 : ranks()); ++other) {
      const InputFactors<T> own = vector_of<T>(other, expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += own.view().a.data[i];
    }
    return count_different<T>(memory->elements(), expected);
  }

  void settle() override {
    if (!data_is_folded()) std::ranges::fill(memory->elements(), T{0});  // so that sums of sums stay small
  }

  Columns input() const override { return {{"size", 10, "size", problem.elements}, field("root", problem.root)}; }
  Columns results() const override { return {{"busbw(GB/s)", 13, "", bus_bytes / median_seconds(), {1e-9, 3}}}; }
};

template <class T>
Rows rows_of(Watch& watch, std::size_t size, const std::vector<std::string>& algorithms,
             const CollectiveBenchOptions& options) {
  Transport& transport = watch.transport;
  check_memory(transport, (options.verify ? 4 : 2) * size * sizeof(T));
  const auto memory = std::make_shared<Workspace<T>>();
  launch::on_all_ranks(transport, [&] { memory->resize(size * sizeof(T)); });
  const DenseProblem problem{.elements = size,
                             .ranks = transport.size(),
                             .type = data_type<T>,
                             .group = {transport.has_native_collectives(), nodes_of_ranks(transport)},
                             .root = options.root};
  Rows rows;
  for (const std::string& algorithm : algorithms) {
    auto row = std::make_unique<TypedRow<T>>(watch, algorithm, options, problem);
    row->memory = memory;
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
    algorithms = expand(options, transport);
  });
  Family family{
      .name = name(options.operation),
      .title = std::string(name(options.operation)) + ", " + std::string(name(options.type)) + ", root " +
               std::to_string(options.root) + ", " + ranks_and_cores(transport),
      .notes = {median_note, predicted_note,
                "busbw = bytes / median, of an allreduce times 2 (P - 1) / P, as nccl-tests have it", base_note}};
  for (const std::size_t size : options.sizes)
    family.inputs.push_back({std::to_string(size) + " elements", [&, size](Watch& watch) {
                               return visit(options.type,
                                            [&]<class T>(T) { return rows_of<T>(watch, size, algorithms, options); });
                             }});
  benchmark(transport, family, options);
}

}  // namespace dsop::bench
