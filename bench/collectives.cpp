#include "collectives.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include <dsop/collectives.hpp>
#include <dsop/counting.hpp>
#include <dsop/errors.hpp>

#include "algorithms/dense/family.hpp"
#include "base/json_text.hpp"
#include "collect.hpp"
#include "host.hpp"
#include "inputs.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "memory/workspace.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "version.hpp"

namespace dsop::bench {
namespace {

struct Row {
  std::string algorithm;  // as asked for
  DensePlan plan;
  DenseProblem problem;
  std::optional<Traffic> busiest;    // none if messages can't be counted
  std::optional<std::size_t> wrong;  // elements, over all ranks
  Samples samples;
};

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
void call(Transport& transport, std::span<T> data, Collective operation, int root, const CollectiveOptions& options) {
  if (operation == Collective::allreduce) return allreduce(transport, data, options);
  operation == Collective::reduce ? dsop::reduce(transport, data, root, options)
                                  : broadcast(transport, data, root, options);
}

template <class T>
InputFactors<T> vector_of(int rank, std::size_t size) {
  return {1, rank, 1, size, 0};
}

// Elements that differ from a plain sum over all ranks' vectors, whole numbers, or from the root's, with ==.
template <class T>
std::size_t count_wrong(const Transport& transport, std::span<const T> data, Collective operation, int root) {
  if (operation == Collective::reduce && transport.rank() != root) return 0;
  const int first = operation == Collective::broadcast ? root : 0;
  const int last = operation == Collective::broadcast ? root : transport.size() - 1;
  std::vector<T> expected(data.size());
  for (int r = first; r <= last; ++r) {
    const InputFactors<T> own = vector_of<T>(r, data.size());
    for (std::size_t i = 0; i < data.size(); ++i) expected[i] += own.view().a.data[i];
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < data.size(); ++i) wrong += data[i] == expected[i] ? 0 : 1;
  return wrong;
}

template <class T>
std::vector<Row> measure_sizes(Transport& transport, std::size_t size, const std::vector<std::string>& algorithms,
                               const CollectiveBenchOptions& options, const std::optional<Machine>& machine,
                               const std::function<void(const std::string&)>& progress) {
  const Collective operation = options.operation;
  const DenseProblem problem{.elements = size,
                             .ranks = transport.size(),
                             .type = data_type<T>,
                             .native_collectives = transport.has_native_collectives(),
                             .root = options.root,
                             .nodes = nodes_of_ranks(transport)};
  check_memory(transport, (options.verify ? 4 : 2) * size * sizeof(T));
  Workspace<T> memory;
  launch::on_all_ranks(transport, [&] { memory.resize(size * sizeof(T)); });
  const std::span<T> data = memory.elements();
  const bool is_real = !data_is_folded();

  CountingTransport counted(transport);
  std::vector<Row> rows;
  std::vector<Contender> contenders;
  for (const std::string& algorithm : algorithms) {
    progress(algorithm + ", first call");
    const CollectiveOptions planned{algorithm, machine};
    const auto run = [&counted, &options, data, planned] {
      call(counted, data, options.operation, options.root, planned);
    };
    if (is_real)
      std::ranges::copy_n(vector_of<T>(transport.rank(), size).view().a.data, static_cast<std::ptrdiff_t>(size),
                          data.begin());
    const Traffic before = counted.payload();
    run();  // touches memory and makes connections
    const Traffic after = counted.payload();
    Row row{
        algorithm, make_dense_plan(algorithms_of(operation), problem, machine_of_calls(transport, machine), algorithm),
        problem,   {},
        {},        {}};
    if (!row.plan.algorithm->native)
      row.busiest = Traffic{largest_of_all_ranks(transport, after.messages - before.messages),
                            largest_of_all_ranks(transport, after.bytes - before.bytes)};
    if (options.verify) {
      const std::vector<std::size_t> wrong =
          of_all_ranks(transport, count_wrong<T>(transport, data, operation, options.root));
      row.wrong = std::accumulate(wrong.begin(), wrong.end(), std::size_t{0});
    }
    rows.push_back(std::move(row));
    contenders.push_back({algorithm, run});
  }
  if (is_real) std::ranges::fill(data, T{0});  // so that sums of sums stay small
  std::vector<Samples> samples = time_in_turns(transport, contenders, options.protocol, progress);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].samples = std::move(samples[i]);
  return rows;
}

void print_head(const Transport& transport, const CollectiveBenchOptions& options, const std::string& base) {
  std::cout << "# dsop-bench " << version << ' ' << name(options.operation) << ", " << name(options.type) << ", root "
            << options.root << ", " << ranks_and_cores(transport) << '\n'
            << "# median over iterations of the slowest rank's time; sent and msgs: the busiest rank's\n"
            << "# predicted: the call's agreement and the algorithm's cost formula, for the machine planned for\n"
            << "# x base: how many times faster than " << base << " in this run\n"
            << "#     size  ranks  algorithm                   median(us)  predicted(us)       sent(B)   msgs   x base"
               "   #wrong\n"
            << std::flush;
}

void print_rows(const std::vector<Row>& rows, const std::string& base) {
  for (const Row& row : rows) {
    const double middle = median(row.samples.observations());
    std::cout << std::setw(10) << row.problem.elements << std::setw(7) << row.problem.ranks << "  " << std::left
              << std::setw(26) << row.algorithm << std::right << std::fixed << std::setprecision(1) << std::setw(12)
              << middle * 1e6 << std::setw(15) << row.plan.seconds() * 1e6 << std::setw(14)
              << (row.busiest ? std::to_string(row.busiest->bytes) : "-") << std::setw(7)
              << (row.busiest ? std::to_string(row.busiest->messages) : "-") << std::setw(9)
              << times_faster(row, rows, base);
    std::cout << std::setw(9) << (row.wrong ? std::to_string(*row.wrong) : "-") << '\n';
  }
  for (const Row& row : rows)
    if (row.algorithm == "auto") std::cout << "# auto used " << row.plan.algorithm_text() << '\n';
  std::cout << std::flush;
}

void write_rows(std::ostream& out, const std::vector<Row>& rows, const CollectiveBenchOptions& options,
                const Transport& transport, const nlohmann::ordered_json& host) {
  for (const Row& row : rows)
    for (std::size_t repetition = 0; repetition < row.samples.seconds.size(); ++repetition) {
      nlohmann::ordered_json json{
          {"family", name(options.operation)}, {"algorithm", row.algorithm},
          {"size", row.problem.elements},      {"root", row.problem.root},
          {"ranks", row.problem.ranks},        {"dtype", name(row.problem.type)},
          {"transport", transport.name()},     {"bytes_sent", nullptr},
          {"messages_sent", nullptr},          {"wrong", nullptr},
          {"used", row.plan.algorithm_text()}, {"predicted_seconds", row.plan.seconds()},
      };
      add_samples(json, row.samples, repetition);
      json["host"] = host;
      if (row.busiest) json["bytes_sent"] = row.busiest->bytes;
      if (row.busiest) json["messages_sent"] = row.busiest->messages;
      if (row.wrong) json["wrong"] = *row.wrong;
      out << json_text(json) << '\n';
    }
  out << std::flush;
}

}  // namespace

void benchmark_collective(Transport& transport, const CollectiveBenchOptions& options,
                          const std::optional<Machine>& machine) {
  const bool speaks = transport.rank() == 0;
  RowsFile file;
  std::vector<std::string> algorithms;
  launch::on_all_ranks(transport, [&] {
    if (options.root < 0 || options.root >= transport.size())
      throw ArgumentError("--root is " + std::to_string(options.root) + ", expected a rank from 0 to " +
                          std::to_string(transport.size() - 1));
    if (speaks) file.open(options.out);
    algorithms = expand_all(options, {.elements = options.sizes.front(),
                                      .ranks = transport.size(),
                                      .native_collectives = transport.has_native_collectives()});
  });
  const nlohmann::ordered_json host = host_facts();
  const std::string base = base_of(options.operation, algorithms, transport);
  if (speaks) print_head(transport, options, base);
  std::size_t wrong = 0;
  ProgressLine progress(speaks);
  for (const std::size_t size : options.sizes) {
    const auto show = [&](const std::string& what) { progress.show(std::to_string(size) + " elements: " + what); };
    const auto measure_type = visit(options.type, []<class T>(T) { return measure_sizes<T>; });
    const std::vector<Row> rows = measure_type(transport, size, algorithms, options, machine, show);
    for (const Row& row : rows) wrong += row.wrong.value_or(0);
    if (!speaks) continue;
    progress.clear();
    print_rows(rows, base);
    file.append([&](std::ostream& out) { write_rows(out, rows, options, transport, host); });
  }
  launch::on_all_ranks(transport, [&] {
    if (wrong > 0) throw Error(std::to_string(wrong) + " elements are wrong");
  });
}

}  // namespace dsop::bench
