#include "measure.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include <dsop/dsop.hpp>
#include <dsop/types.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "collect.hpp"
#include "compare/rival.hpp"
#include "host.hpp"
#include "inputs.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "memory/workspace.hpp"
#include "time_in_transport.hpp"
#include "wire.hpp"

namespace dsop::bench {
namespace {

constexpr std::uint64_t seed = 1;

template <class T>
InputFactors<T> factors_of(const Point& point, int rank) {
  return {seed, rank, point.pairs, point.rows, point.columns, Values::whole, 0, point.densities};
}

// One rank's factors in the forms that contenders are handed.
template <class T>
struct OwnFactors {
  InputFactors<T> dense;
  Compressed<T> a;
  Compressed<T> b;

  OwnFactors(const Point& point, int rank) : dense(factors_of<T>(point, rank)), a(dense.view().a), b(dense.view().b) {}
};

// Elements of G, whose rows begin at `first_row`, that differ from a plain sum over all ranks' factors, whole numbers,
// with ==.
template <class T>
std::size_t count_wrong(const Transport& transport, const Point& point, std::size_t first_row, MatrixView<const T> G) {
  std::vector<InputFactors<T>> all;
  for (int rank = 0; rank < transport.size(); ++rank) all.push_back(factors_of<T>(point, rank));
  std::size_t wrong = 0;
  std::vector<T> expected(point.columns);
  for (std::size_t i = 0; i < G.rows; ++i) {
    std::fill(expected.begin(), expected.end(), T{0});
    for (const InputFactors<T>& factors : all) add_reference_row<T>(factors.view(), first_row + i, T{1}, expected);
    for (std::size_t j = 0; j < point.columns; ++j) wrong += G.row(i)[j] == expected[j] ? 0 : 1;
  }
  return wrong;
}

// An algorithm, dsop's own or a rival, on its way to a row.
template <class T>
struct Entry {
  std::string algorithm;
  const Rival* rival;  // null: dsop's own
  Encoding encoding;
  std::unique_ptr<OuterProduct<T>> layer = {};   // dsop's own
  std::unique_ptr<PreparedRival> prepared = {};  // a rival, once factors and gradient are there

  void run(const Transport& transport, const OwnFactors<T>& own, MatrixView<T> G) {
    if (rival != nullptr)
      prepared->run();
    else if (algorithm == sharded)
      layer->run_sharded(own.dense.view(), result(transport, G));
    else if (encoding == Encoding::sparse)
      layer->run({own.a.view(), own.b.view()}, G);
    else
      layer->run(own.dense.view(), G);
  }

  // The rows of G that this rank ends with.
  MatrixView<T> result(const Transport& transport, MatrixView<T> G) const {
    return G.row_range(first_row(transport), algorithm == sharded ? bound(transport, 1) - bound(transport, 0) : G.rows);
  }
  std::size_t first_row(const Transport& transport) const { return algorithm == sharded ? bound(transport, 0) : 0; }
  std::size_t bound(const Transport& transport, int next) const {
    return layer->plan().row_bounds[static_cast<std::size_t>(transport.rank() + next)];
  }

  // What a rival sends by connections of its own can't be seen.
  bool shows_messages() const { return rival == nullptr || rival->counted; }
  // What runs inside a library can't be counted.
  bool counted() const { return rival != nullptr ? rival->counted : !layer->plan().algorithm->native(); }

  // The row's description, after a call; numbers come later.
  Measurement row(const Problem& problem, Densities densities) const {
    if (rival != nullptr)
      return {.algorithm = algorithm,
              .problem = problem,
              .used = prepared->used(),
              .flops = rival->flops(problem),
              .densities = densities};
    const Plan& plan = layer->plan();
    return {.algorithm = label(),
            .problem = plan.problem,
            .used = plan.algorithm_text(),
            .flops = plan.cost().flops,
            .plan = plan,
            .densities = densities,
            .encoding = encoding};
  }

  std::string label() const {
    std::string text = algorithm;
    if (encoding != Encoding::dense) text.append(":").append(bench::name(encoding));
    if (rival == nullptr && layer->plan().problem.wire == Wire::bf16) text += ":bf16";
    return text;
  }
};

Problem problem_of(const Transport& transport, const Point& point, DataType type) {
  const std::vector<std::size_t> pairs(static_cast<std::size_t>(transport.size()), point.pairs);
  return {point.rows, point.columns, pairs, type, false, transport.has_native_collectives()};
}

bool chooses(const std::string& algorithm) {
  return algorithm == sharded || algorithm == auto_probed;
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

Shape shape_of(const Point& point, Encoding encoding) {
  Shape shape{point.rows, point.columns, point.pairs};
  if (encoding != Encoding::dense) {
    shape.density_a = point.densities.a;
    shape.density_b = point.densities.b;
  }
  return shape;
}

template <class T>
std::vector<Measurement> measure(Transport& transport, const Point& point, const std::vector<EncodedAlgorithm>& asked,
                                 const MeasureOptions& options) {
  TimeInTransport timed(transport);
  CountingTransport counted(timed);
  const Problem problem = problem_of(transport, point, data_type<T>);
  make_plan(problem, transport.default_machine());  // refuses sizes that overflow
  std::size_t needed_bytes = (point.rows * point.columns + point.pairs * (point.rows + point.columns)) * sizeof(T);
  if (options.verify)  // every rank makes all ranks' factors
    needed_bytes += point.pairs * (point.rows + point.columns) * sizeof(T) * static_cast<std::size_t>(transport.size());
  if (std::ranges::any_of(asked, [](const EncodedAlgorithm& one) { return one.encoding != Encoding::dense; }))
    // A value, an index and what they grow by.
    needed_bytes += 3 * point.pairs * (point.rows + point.columns) * sizeof(T);
  std::optional<OwnFactors<T>> own;
  Workspace<T> gradient;
  std::vector<Entry<T>> entries;  // made before memory is taken: layers refuse sizes that none could hold
  for (const auto& [algorithm, encoding] : asked) {
    const Rival* const rival = rivals().find(algorithm);
    Entry<T>& entry = entries.emplace_back(Entry<T>{algorithm, rival, encoding});
    if (rival != nullptr) {
      needed_bytes += rival->workspace_elements(problem) * sizeof(T);
      continue;
    }
    entry.layer =
        std::make_unique<OuterProduct<T>>(counted, shape_of(point, encoding),
                                          Options{.algorithm = chooses(algorithm) ? "auto" : algorithm,
                                                  .machine = algorithm == auto_probed ? std::nullopt : options.machine,
                                                  .find_zeros = encoding == Encoding::find_zeros,
                                                  .wire = options.wire});
    needed_bytes += entry.layer->plan().workspace_bytes;
  }
  check_memory(transport, needed_bytes);
  launch::on_all_ranks(transport, [&] {
    own.emplace(point, transport.rank());
    gradient.resize(point.rows * point.columns * sizeof(T));
  });
  const MatrixView<T> G(gradient.elements().data(), point.rows, point.columns);

  std::optional<Machine> probed;
  if (std::ranges::any_of(asked, [](const EncodedAlgorithm& one) { return one.algorithm == auto_probed; }))
    probed = machine(counted);
  std::vector<Measurement> rows;
  std::vector<Contender> contenders;
  double fastest_seconds = std::numeric_limits<double>::infinity();
  for (Entry<T>& entry : entries) {
    options.progress(entry.label() + ", first call");
    if (const Rival* const rival = entry.rival)
      entry.prepared = rival->prepare.of<T>()({counted, problem, own->dense.view(), G});
    const auto run = [&entry, &transport, &own, G] { entry.run(transport, *own, G); };
    if (!is_simulated()) run();  // touches memory and makes connections
    if (options.verify) std::ranges::fill(gradient.elements(), std::numeric_limits<T>::quiet_NaN());
    const Traffic before = counted.payload();
    double seconds = 0;
    std::vector<std::size_t> wire = wire_bytes(transport, [&] { seconds = seconds_of(run); });
    fastest_seconds = std::min(fastest_seconds, largest_of_all_ranks(transport, seconds));
    const Traffic after = counted.payload();

    Measurement& row = rows.emplace_back(entry.row(problem, point.densities));
    if (row.plan && probed) {
      row.probed_seconds = make_plan(row.problem, *probed, row.used).seconds();
      // That which was planned by the probe is shown by the machine that the others are planned by.
      if (options.machine && entry.algorithm == auto_probed)
        row.plan = make_plan(row.problem, *options.machine, row.used);
    }
    row.wire_bytes_per_host = std::move(wire);
    if (entry.counted())
      row.busiest = Traffic{largest_of_all_ranks(transport, after.messages - before.messages),
                            largest_of_all_ranks(transport, after.bytes - before.bytes)};
    if (options.verify) {
      const std::vector<std::size_t> wrong = of_all_ranks(
          transport, count_wrong<T>(transport, point, entry.first_row(transport), entry.result(transport, G)));
      row.wrong = std::accumulate(wrong.begin(), wrong.end(), std::size_t{0});
    }
    contenders.push_back({.name = entry.label(), .run = run});
    if (entry.shows_messages()) contenders.back().message_seconds = [&timed] { return timed.seconds(); };
  }
  // In a loop a call follows one like it, or comes where one like it came, and its few factors ride in the agreement.
  // Among calls in an order that is drawn anew they would not.
  const auto rides = [](const Measurement& row) { return row.plan && row.plan->chosen().rides; };
  if (!is_simulated() && std::ranges::any_of(rows, rides))
    for (Contender& contender : contenders)
      contender.prepare = [run = contender.run] {
        run();
        run();
      };
  // Of a single short call much goes through what links let through at once after a pause, which a loop has used up.
  Protocol protocol = options.protocol;
  if (!is_simulated()) protocol.runs_a_turn = runs_a_turn(fastest_seconds);
  std::vector<Samples> samples = time_in_turns(transport, contenders, protocol, options.progress);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].samples = std::move(samples[i]);
  return rows;
}

#define INSTANTIATE(T)                                                                                         \
  template std::vector<Measurement> measure<T>(Transport&, const Point&, const std::vector<EncodedAlgorithm>&, \
                                               const MeasureOptions&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::bench
