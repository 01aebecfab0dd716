#include "sparse_allreduce.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include <dsop/counting.hpp>
#include <dsop/errors.hpp>
#include <dsop/sparse_allreduce.hpp>

#include "algorithms/sparse/algorithm.hpp"
#include "base/json_text.hpp"
#include "collect.hpp"
#include "critical_path.hpp"
#include "host.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "output.hpp"
#include "sparse_problems.hpp"
#include "version.hpp"

namespace dsop::bench {
namespace {

const std::string base = "dense-ring";

struct Row {
  std::string algorithm;  // as asked for
  std::string used;
  SparsePlan plan;
  double density;
  std::size_t result_elements;  // that are stored, of the rank's sum
  bool result_dense;
  std::size_t agreement_messages;    // of a rank, before those of the algorithm
  std::optional<Traffic> busiest;    // none if messages can't be counted
  std::optional<Traffic> path;       // none in a simulation, where no call is made but the timed ones
  std::optional<std::size_t> wrong;  // elements, over all ranks
  Samples samples;
};

// Elements that differ from a plain sum over all ranks' vectors, whole numbers, with ==.
template <class T>
std::size_t count_wrong(int ranks, const SparseVectorView<T>& sum, double density, Distribution distribution) {
  std::vector<T> difference(sum.dimension);
  sparse::expand<T>(sum, difference);
  for (int r = 0; r < ranks; ++r)
    sparse::add_scaled<T>(difference, T{-1}, SparseVector<T>(r, sum.dimension, density, distribution).view());
  return sparse::count_nonzeros<T>(difference);
}

template <class T>
std::vector<Row> measure_sums(Transport& transport, std::size_t size, double density,
                              const std::vector<std::string>& algorithms, const SparseBenchOptions& options,
                              const std::function<void(const std::string&)>& progress) {
  const auto ranks = static_cast<std::size_t>(transport.size());
  const auto bound = static_cast<std::size_t>(static_cast<double>(size) * std::min(1.0, 2 * density));
  check_memory(transport, 6 * size * sizeof(T) + ranks * bound * (sizeof(T) + sizeof(sparse::Index)));
  std::optional<SparseVector<T>> own;
  launch::on_all_ranks(transport, [&] { own.emplace(transport.rank(), size, density, options.distribution); });
  SparseProblem problem{.elements = size, .type = data_type<T>};
  problem.nonzeros = of_all_ranks(transport, own->view().indices.size());
  problem.native_collectives = transport.has_native_collectives();
  problem.wire = options.wire;
  problem.nodes = nodes_of_ranks(transport);

  const Machine planned_for = machine_of_calls(transport, options.machine);
  CountingTransport counted(transport);
  std::vector<Row> rows;
  std::vector<Contender> contenders;
  for (const std::string& algorithm : algorithms) {
    progress(algorithm + ", first call");
    const auto call_over = [&own, &options, algorithm](Transport& over) {
      return sparse_allreduce<T>(over, own->view(),
                                 {.algorithm = algorithm, .machine = options.machine, .wire = options.wire});
    };
    const auto call = [&counted, call_over] { return call_over(counted); };
    CriticalPathTransport path(transport);
    CriticalPathTransport messages_path(transport, PathUnit::messages);
    for (CriticalPathTransport* each : {&path, &messages_path})
      if (!is_simulated()) static_cast<void>(call_over(*each));  // touches memory and makes connections
    const Traffic before = counted.payload();
    const std::size_t agreed_before = counted.agreement().messages;
    const SparseSum<T> result = call();
    const Traffic after = counted.payload();
    const std::size_t agreement_messages = counted.agreement().messages - agreed_before;
    Row row{algorithm,
            result.algorithm,
            make_sparse_plan(problem, planned_for, algorithm),
            density,
            result.sum.values.size(),
            result.sum.dense(),
            agreement_messages,
            {},
            {},
            {},
            {}};
    if (!row.plan.algorithm->native()) {
      row.busiest = Traffic{largest_of_all_ranks(transport, after.messages - before.messages),
                            largest_of_all_ranks(transport, after.bytes - before.bytes)};
      if (!is_simulated())
        row.path = Traffic{largest_of_all_ranks(transport, messages_path.clock()),
                           largest_of_all_ranks(transport, path.clock())};
    }
    if (options.verify) {
      const std::vector<std::size_t> wrong =
          of_all_ranks(transport, count_wrong<T>(transport.size(), result.sum, density, options.distribution));
      row.wrong = std::accumulate(wrong.begin(), wrong.end(), std::size_t{0});
    }
    rows.push_back(std::move(row));
    contenders.push_back({algorithm, [call] { static_cast<void>(call()); }});
  }
  std::vector<Samples> samples = time_in_turns(transport, contenders, options.protocol, progress);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].samples = std::move(samples[i]);
  return rows;
}

// Up to 2^8 bf16 holds all whole numbers.
void check_can_verify(const Transport& transport, const SparseBenchOptions& options) {
  constexpr int most_ranks = (1 << 8) / SparseVector<float>::largest;
  if (options.verify && options.wire == Wire::bf16 && transport.size() > most_ranks)
    throw ArgumentError("--verify compares with ==, expected --wire full, or at most " + std::to_string(most_ranks) +
                        " ranks, whose sums bf16 holds");
}

void print_head(const Transport& transport, const SparseBenchOptions& options) {
  std::cout << "# dsop-bench " << version << " sparse-allreduce, " << name(options.type) << ", elements "
            << name(options.distribution) << ", " << ranks_and_cores(transport) << '\n'
            << "# k: elements of the rank with the most; result: elements stored of the sum, s sparse or d dense\n"
            << "# median over iterations of the slowest rank's time; sent and msgs: the busiest rank's\n"
            << "# predicted: the call's agreement and the algorithm's cost formula, for the machine planned for and "
               "indices by chance\n"
            << "# x base: how many times faster than " << base << " in this run\n"
            << "#     size        k  ranks  algorithm                      median(us)  predicted(us)     result "
               "      sent(B)   msgs   x base   #wrong\n"
            << std::flush;
}

template <class Number>
std::string text_of(const std::optional<Number>& number) {
  return number ? std::to_string(*number) : "-";
}

void print_rows(const std::vector<Row>& rows, const SparseBenchOptions& options) {
  for (const Row& row : rows) {
    const double middle = median(row.samples.observations());
    std::cout << std::setw(10) << row.plan.problem.elements << std::setw(9) << row.plan.problem.largest_nonzeros()
              << std::setw(7) << row.plan.problem.ranks() << "  " << std::left << std::setw(29)
              << label(row.algorithm, options) << std::right << std::fixed << std::setprecision(1) << std::setw(12)
              << middle * 1e6 << std::setw(15) << row.plan.seconds() * 1e6 << std::setw(11) << row.result_elements
              << (row.result_dense ? 'd' : 's') << std::setw(13)
              << (row.busiest ? std::to_string(row.busiest->bytes) : "-") << std::setw(7)
              << (row.busiest ? std::to_string(row.busiest->messages) : "-") << std::setw(9)
              << times_faster(row, rows, base);
    std::cout << std::setw(9) << text_of(row.wrong) << '\n';
  }
  for (const Row& row : rows)
    if (row.algorithm == "auto")
      std::cout << "# " << label(row.algorithm, options) << " used " << row.used << ": " << row.plan.reason << '\n';
  std::cout << std::flush;
}

void write_rows(std::ostream& out, const std::vector<Row>& rows, const SparseBenchOptions& options,
                const Transport& transport, const nlohmann::ordered_json& host) {
  for (const Row& row : rows)
    for (std::size_t repetition = 0; repetition < row.samples.seconds.size(); ++repetition) {
      nlohmann::ordered_json json{
          {"family", "sparse-allreduce"},
          {"algorithm", label(row.algorithm, options)},
          {"size", row.plan.problem.elements},
          {"density", row.density},
          {"distribution", name(options.distribution)},
          {"nonzeros", row.plan.problem.largest_nonzeros()},
          {"ranks", row.plan.problem.ranks()},
          {"dtype", name(row.plan.problem.type)},
          {"wire", name(row.plan.problem.wire)},
          {"transport", transport.name()},
          {"result_elements", row.result_elements},
          {"result_form", row.result_dense ? "dense" : "sparse"},
          {"bytes_sent", nullptr},
          {"messages_sent", nullptr},
          {"path_bytes", nullptr},
          {"path_messages", nullptr},
          {"agreement_messages", row.agreement_messages},
          {"formula_bytes", row.plan.cost().bytes},
          {"wrong", nullptr},
          {"used", row.used},
          {"predicted_seconds", row.plan.seconds()},
      };
      add_samples(json, row.samples, repetition);
      json["host"] = host;
      if (row.busiest) json["bytes_sent"] = row.busiest->bytes;
      if (row.busiest) json["messages_sent"] = row.busiest->messages;
      if (row.path) json["path_bytes"] = row.path->bytes;
      if (row.path) json["path_messages"] = row.path->messages;
      if (row.wrong) json["wrong"] = *row.wrong;
      out << json_text(json) << '\n';
    }
  out << std::flush;
}

}  // namespace

void benchmark_sparse_allreduce(Transport& transport, const SparseBenchOptions& options) {
  const bool speaks = transport.rank() == 0;
  check_has_data();
  check_can_verify(transport, options);
  RowsFile file;
  std::vector<std::string> algorithms;
  launch::on_all_ranks(transport, [&] {
    if (speaks) file.open(options.out);
    algorithms = expand_all(transport, options, false);
  });
  const nlohmann::ordered_json host = host_facts();
  if (speaks) print_head(transport, options);
  std::size_t wrong = 0;
  for_each_problem(
      transport, options, file,
      [&](std::size_t size, double density, const auto& show) {
        const auto measure_type = visit(options.type, []<class T>(T) { return measure_sums<T>; });
        std::vector<Row> rows = measure_type(transport, size, density, algorithms, options, show);
        for (const Row& row : rows) wrong += row.wrong.value_or(0);
        return rows;
      },
      [&](const std::vector<Row>& rows, std::size_t) { print_rows(rows, options); },
      [&](std::ostream& out, const std::vector<Row>& rows, std::size_t, double) {
        write_rows(out, rows, options, transport, host);
      });
  launch::on_all_ranks(transport, [&] {
    if (wrong > 0) throw Error(std::to_string(wrong) + " elements are wrong");
  });
}

}  // namespace dsop::bench
