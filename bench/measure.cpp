#include "measure.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include <dsop/dsop.hpp>

#include "collect.hpp"
#include "compare/rival.hpp"
#include "host.hpp"
#include "inputs.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "outer_product/algorithm.hpp"
#include "planning/workspace.hpp"
#include "wire.hpp"

namespace dsop::bench {
namespace {

constexpr std::uint64_t seed = 1;

// Elements of G that differ from a plain sum over all ranks' factors, whole numbers, with ==.
template <class T>
std::size_t count_wrong(const Transport& transport, const Point& point, MatrixView<const T> G) {
  std::vector<InputFactors<T>> all;
  for (int rank = 0; rank < transport.size(); ++rank)
    all.emplace_back(seed, rank, point.pairs, point.rows, point.columns);
  std::size_t wrong = 0;
  std::vector<T> expected(point.columns);
  for (std::size_t i = 0; i < point.rows; ++i) {
    std::fill(expected.begin(), expected.end(), T{0});
    for (const InputFactors<T>& factors : all) add_reference_row<T>(factors.view(), i, T{1}, expected);
    for (std::size_t j = 0; j < point.columns; ++j) wrong += G.row(i)[j] == expected[j] ? 0 : 1;
  }
  return wrong;
}

// An algorithm, dsop's own or a rival, on its way to a row.
template <class T>
struct Entry {
  std::string algorithm;
  const Rival* rival;                            // null: dsop's own
  std::unique_ptr<OuterProduct<T>> layer = {};   // dsop's own
  std::unique_ptr<PreparedRival> prepared = {};  // a rival, once factors and gradient are there

  void run(const Factors<T>& own, MatrixView<T> G) { rival ? prepared->run() : layer->run(own, G); }

  // What runs inside a library can't be counted.
  bool counted() const {
    if (rival != nullptr) return rival->counted;
    const OuterProductAlgorithm& used = *layer->plan().algorithm;
    return !(used.dense != nullptr && used.dense->native) && !(used.exchange != nullptr && used.exchange->native);
  }

  // The row's description, after a call; numbers come later.
  Measurement row(const Problem& problem) const {
    if (rival != nullptr) return {algorithm, problem, prepared->used(), rival->flops(problem), {}, {}, {}, {}, {}};
    const Plan& plan = layer->plan();
    return {algorithm, plan.problem, plan.algorithm_text(), plan.cost().flops, plan, {}, {}, {}, {}};
  }
};

Problem problem_of(const Transport& transport, const Point& point, DataType type) {
  const std::vector<std::size_t> pairs(static_cast<std::size_t>(transport.size()), point.pairs);
  return {point.rows, point.columns, pairs, type, false, transport.has_native_collectives()};
}

// What each host has sent while `call` ran, on the emulated cluster.
template <class Call>
std::vector<std::size_t> wire_bytes(Transport& transport, Call call) {
  barrier(transport);
  const std::size_t before = interface_bytes_sent();
  call();
  barrier(transport);
  if (!on_emulated_cluster()) return {};
  struct HostBytes {
    std::size_t host;  // a hash of its name
    std::size_t bytes;
  };
  std::map<std::size_t, std::size_t> by_host;
  for (const auto& [host, bytes] :
       of_all_ranks(transport, HostBytes{std::hash<std::string>()(host_name()), interface_bytes_sent() - before}))
    by_host[host] = bytes;
  std::vector<std::size_t> sent;
  for (const auto& [host, bytes] : by_host) sent.push_back(bytes);
  return sent;
}

}  // namespace

template <class T>
std::vector<Measurement> measure(Transport& transport, const Point& point, const std::vector<std::string>& algorithms,
                                 const MeasureOptions& options) {
  CountingTransport counted(transport);
  const Problem problem = problem_of(transport, point, data_type<T>);
  make_plan(problem, transport.default_machine());  // refuses sizes that overflow
  std::size_t needed_bytes = (point.rows * point.columns + point.pairs * (point.rows + point.columns)) * sizeof(T);
  if (options.verify)  // every rank makes all ranks' factors
    needed_bytes += point.pairs * (point.rows + point.columns) * sizeof(T) * static_cast<std::size_t>(transport.size());
  std::optional<InputFactors<T>> own;
  Workspace<T> gradient;
  std::vector<Entry<T>> entries;  // made before memory is taken: layers refuse sizes that none could hold
  for (const std::string& algorithm : algorithms) {
    Entry<T>& entry = entries.emplace_back(Entry<T>{algorithm, rivals().find(algorithm)});
    if (entry.rival != nullptr) {
      needed_bytes += entry.rival->workspace_elements(problem) * sizeof(T);
      continue;
    }
    entry.layer = std::make_unique<OuterProduct<T>>(counted, Shape{point.rows, point.columns, point.pairs},
                                                    Options{.algorithm = algorithm, .machine = options.machine});
    needed_bytes += entry.layer->plan().workspace_bytes;
  }
  check_memory(transport, needed_bytes);
  launch::on_all_ranks(transport, [&] {
    own.emplace(seed, transport.rank(), point.pairs, point.rows, point.columns);
    gradient.resize(point.rows * point.columns * sizeof(T));
  });
  const MatrixView<T> G(gradient.elements().data(), point.rows, point.columns);

  std::vector<Measurement> rows;
  std::vector<Contender> contenders;
  for (Entry<T>& entry : entries) {
    options.progress(entry.algorithm + ", first call");
    if (entry.rival != nullptr) entry.prepared = entry.rival->prepare(RivalJob<T>{counted, problem, own->view(), G});
    const auto run = [&entry, &own, G] { entry.run(own->view(), G); };
    if (simulation_facts().is_null()) run();  // touches memory and makes connections
    if (options.verify) std::ranges::fill(gradient.elements(), std::numeric_limits<T>::quiet_NaN());
    const Traffic before = counted.payload();
    std::vector<std::size_t> wire = wire_bytes(transport, run);
    const Traffic after = counted.payload();

    Measurement& row = rows.emplace_back(entry.row(problem));
    row.wire_bytes_per_host = std::move(wire);
    if (entry.counted())
      row.busiest = Traffic{largest_of_all_ranks(transport, after.messages - before.messages),
                            largest_of_all_ranks(transport, after.bytes - before.bytes)};
    if (options.verify) {
      const std::vector<std::size_t> wrong = of_all_ranks(transport, count_wrong<T>(transport, point, G));
      row.wrong = std::accumulate(wrong.begin(), wrong.end(), std::size_t{0});
    }
    contenders.push_back({entry.algorithm, run});
  }
  std::vector<Samples> samples = time_in_turns(transport, contenders, options.protocol, options.progress);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].samples = std::move(samples[i]);
  return rows;
}

template std::vector<Measurement> measure<float>(Transport&, const Point&, const std::vector<std::string>&,
                                                 const MeasureOptions&);
template std::vector<Measurement> measure<double>(Transport&, const Point&, const std::vector<std::string>&,
                                                  const MeasureOptions&);

}  // namespace dsop::bench
