#include "topk_allreduce.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>

#include <dsop/counting.hpp>
#include <dsop/errors.hpp>
#include <dsop/topk_allreduce.hpp>
#include <nlohmann/json.hpp>

#include "algorithms/sparse/algorithm.hpp"
#include "base/json_text.hpp"
#include "collect.hpp"
#include "critical_path.hpp"
#include "gradient_inputs.hpp"
#include "host.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "output.hpp"
#include "sparse_problems.hpp"
#include "topk_contenders.hpp"
#include "version.hpp"

namespace dsop::bench {
namespace {

const std::string base = "dense-ring";

struct Row {
  std::string algorithm;  // as asked for
  SelectedSum sum;        // of a call that is not the first; the most that any rank chose
  bool counts;            // messages, that is
  Traffic first;          // the busiest rank's in the first call, which evaluates what is reused later
  Traffic later;
  std::size_t path_bytes;    // of a later call
  double predicted_seconds;  // without the selection
  Samples samples;
};

double predicted_seconds(Transport& transport, const std::vector<int>& nodes, const std::string& algorithm,
                         DataType type, std::size_t size, std::size_t k, std::size_t chosen,
                         const SparseBenchOptions& options) {
  const Machine machine = machine_of_calls(transport, options.machine);
  const bool native = transport.has_native_collectives();
  if (selects(algorithm))
    return topk_cost({size, k, transport.size(), type, native, options.wire, nodes}, machine, algorithm).seconds();
  const std::vector<std::size_t> nonzeros(static_cast<std::size_t>(transport.size()),
                                          sums_all(algorithm) ? Sparsity::dense : chosen);
  SparseProblem problem{size, nonzeros, type, native};
  problem.wire = options.wire;
  problem.nodes = nodes;
  return make_sparse_plan(problem, machine, algorithm).cost().seconds();
}

template <class T>
std::vector<Row> measure_sums(Transport& transport, std::size_t size, double density,
                              const std::vector<std::string>& algorithms, const SparseBenchOptions& options,
                              const std::function<void(const std::string&)>& progress) {
  const auto k = std::max(std::size_t{1}, static_cast<std::size_t>(std::llround(density * static_cast<double>(size))));
  check_memory(transport, (6 + algorithms.size()) * size * sizeof(T));
  const std::vector<int> nodes = nodes_of_ranks(transport);
  std::vector<T> gradient;
  CriticalPathTransport path(transport);
  CountingTransport counted(path);
  std::vector<std::unique_ptr<SelectedAllreduce>> allreduces;
  launch::on_all_ranks(transport, [&] {
    gradient = gradient_like<T>(transport.rank(), size, density, options.distribution);
    for (const std::string& algorithm : algorithms)
      allreduces.push_back(make_selected<T>(counted, gradient, k, algorithm, options));
  });

  std::vector<Row> rows;
  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    SelectedAllreduce& allreduce = *allreduces[i];
    Row row{algorithms[i], {}, true, {}, {}, 0, 0, {}};
    for (Traffic* const sent : {&row.first, &row.later}) {
      progress(algorithms[i] + ", first calls");
      allreduce.restore();
      path.restart();
      const Traffic before = counted.payload();
      allreduce.select();
      row.sum = allreduce.sum();
      const Traffic after = counted.payload();
      *sent = {largest_of_all_ranks(transport, after.messages - before.messages),
               largest_of_all_ranks(transport, after.bytes - before.bytes)};
    }
    row.path_bytes = largest_of_all_ranks(transport, path.clock());
    const SparseAlgorithm* const sparse = sparse_algorithms().find(row.sum.used.substr(0, row.sum.used.find('(')));
    row.counts = sparse == nullptr || !sparse->native();
    row.sum.chosen = largest_of_all_ranks(transport, row.sum.chosen);
    row.predicted_seconds =
        predicted_seconds(transport, nodes, algorithms[i], data_type<T>, size, k, row.sum.chosen, options);
    rows.push_back(std::move(row));

    const bool alone = options.communication_alone;
    const auto prepare = [&allreduce, alone] {
      allreduce.restore();
      if (alone) allreduce.select();
    };
    const auto run = [&allreduce, alone] {
      if (!alone) allreduce.select();
      static_cast<void>(allreduce.sum());
    };
    contenders.push_back({algorithms[i], run, prepare});
  }
  path.stop();
  std::vector<Samples> samples = time_in_turns(transport, contenders, options.protocol, progress);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].samples = std::move(samples[i]);
  return rows;
}

void print_head(const Transport& transport, const SparseBenchOptions& options) {
  std::cout << "# dsop-bench " << version << " sparse-allreduce --select, " << name(options.type)
            << ", gradients whose wide elements are " << name(options.distribution) << ", "
            << ranks_and_cores(transport) << '\n'
            << "# sparse allreduces sum what " << options.selection
            << " selects, dense ones all; others select for themselves; times are "
            << (options.communication_alone ? "without" : "with") << " the selection\n"
            << "# chosen: by the rank with the most; result: elements stored of the sum, s sparse or d dense\n"
            << "# median over iterations of the slowest rank's time; sent and msgs: the busiest rank's in the second "
               "call, first: in the first\n"
            << "# predicted: by the algorithm's cost formula, without the selection and the agreements before it\n"
            << "# x base: how many times faster than " << base << " in this run\n"
            << "#     size   chosen  ranks  algorithm                      median(us)  predicted(us)     result "
               "      sent(B)   msgs      first(B)   x base\n"
            << std::flush;
}

void print_rows(const std::vector<Row>& rows, std::size_t size, int ranks, const SparseBenchOptions& options) {
  for (const Row& row : rows) {
    const double middle = median(row.samples.observations());
    const auto counted = [&](std::size_t number) { return row.counts ? std::to_string(number) : "-"; };
    std::cout << std::setw(10) << size << std::setw(9) << row.sum.chosen << std::setw(7) << ranks << "  " << std::left
              << std::setw(29) << label(row.algorithm, options) << std::right << std::fixed << std::setprecision(1)
              << std::setw(12) << middle * 1e6 << std::setw(15) << row.predicted_seconds * 1e6 << std::setw(11)
              << row.sum.result_elements << (row.sum.result_dense ? 'd' : 's') << std::setw(13)
              << counted(row.later.bytes) << std::setw(7) << counted(row.later.messages) << std::setw(14)
              << counted(row.first.bytes) << std::setw(9) << times_faster(row, rows, base) << '\n';
  }
  for (const Row& row : rows)
    if (row.sum.used != row.algorithm)
      std::cout << "# " << label(row.algorithm, options) << " used " << row.sum.used << '\n';
  std::cout << std::flush;
}

void write_rows(std::ostream& out, const std::vector<Row>& rows, std::size_t size, double density,
                const SparseBenchOptions& options, const Transport& transport, const nlohmann::ordered_json& host) {
  for (const Row& row : rows)
    for (std::size_t repetition = 0; repetition < row.samples.seconds.size(); ++repetition) {
      nlohmann::ordered_json json{
          {"family", "topk-allreduce"},
          {"algorithm", label(row.algorithm, options)},
          {"selection", options.selection},
          {"communication_alone", options.communication_alone},
          {"size", size},
          {"density", density},
          {"distribution", name(options.distribution)},
          {"chosen", row.sum.chosen},
          {"ranks", transport.size()},
          {"dtype", name(options.type)},
          {"wire", name(options.wire)},
          {"transport", transport.name()},
          {"result_elements", row.sum.result_elements},
          {"result_form", row.sum.result_dense ? "dense" : "sparse"},
          {"bytes_sent", nullptr},
          {"messages_sent", nullptr},
          {"first_bytes_sent", nullptr},
          {"path_bytes", nullptr},
          {"used", row.sum.used},
          {"predicted_seconds", row.predicted_seconds},
      };
      add_samples(json, row.samples, repetition);
      json["host"] = host;
      if (row.counts) {
        json["bytes_sent"] = row.later.bytes;
        json["messages_sent"] = row.later.messages;
        json["first_bytes_sent"] = row.first.bytes;
        json["path_bytes"] = row.path_bytes;
      }
      out << json_text(json) << '\n';
    }
  out << std::flush;
}

}  // namespace

void benchmark_topk_allreduce(Transport& transport, const SparseBenchOptions& options) {
  const bool speaks = transport.rank() == 0;
  check_has_data();
  RowsFile file;
  std::vector<std::string> algorithms;
  launch::on_all_ranks(transport, [&] {
    if (speaks) file.open(options.out);
    algorithms = expand_all(transport, options, true);
    static_cast<void>(Selector<float>(options.selection));  // refuses what is unknown
  });
  const nlohmann::ordered_json host = host_facts();
  if (speaks) print_head(transport, options);
  for_each_problem(
      transport, options, file,
      [&](std::size_t size, double density, const auto& show) {
        const auto measure_type = visit(options.type, []<class T>(T) { return measure_sums<T>; });
        return measure_type(transport, size, density, algorithms, options, show);
      },
      [&](const std::vector<Row>& rows, std::size_t size) { print_rows(rows, size, transport.size(), options); },
      [&](std::ostream& out, const std::vector<Row>& rows, std::size_t size, double density) {
        write_rows(out, rows, size, density, options, transport, host);
      });
}

}  // namespace dsop::bench
