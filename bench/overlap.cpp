#include "overlap.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include <dsop/dsop.hpp>
#include <dsop/errors.hpp>

#include "base/json_text.hpp"
#include "collect.hpp"
#include "compare/rival.hpp"
#include "contenders.hpp"
#include "host.hpp"
#include "inputs.hpp"
#include "kernels/add.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "output.hpp"
#include "statistics.hpp"
#include "version.hpp"

namespace dsop::bench {
namespace {

// What a program might do meanwhile: sums of vectors that fit a core's own cache, so that ranks on one host do not
// compete for memory.
class Arithmetic {
 public:
  // Sets how often, so that it takes about `seconds` when all ranks do it at the same time. What ranks that share a
  // core take is not proportional to what they do, so it is tried a few times.
  void last(Transport& transport, double seconds) {
    units_ = 1;
    for (int attempt = 0; attempt < 8; ++attempt) {
      const double factor = std::clamp(seconds / slowest_seconds(transport, [&] { run(); }), 0.1, 10.0);
      if (std::abs(factor - 1) < 0.1) return;
      units_ = static_cast<std::size_t>(std::max(1.0, std::round(factor * static_cast<double>(units_))));
    }
  }
  void run() {
    for (std::size_t unit = 0; unit < units_; ++unit) run_unit();
  }
  // Goes on until `seconds` have gone by, as OSU's tests do, however much of a core that was. Returns how long it was.
  double run_for(double seconds) {
    double gone_by = 0;
    while (gone_by < seconds) gone_by += seconds_of([&] { run_unit(); });
    return gone_by;
  }

 private:
  void run_unit() {
    for (int i = 0; i < 100; ++i) kernels::add<float>(sum_, sum_, terms_);
  }

  std::size_t units_ = 0;
  std::vector<float> sum_ = std::vector<float>(2048);
  std::vector<float> terms_ = std::vector<float>(2048, 1);
};

struct Seconds {
  // By iteration, by rank. In the manner of OSU: arithmetic until `asked` have gone by, and it and the call.
  std::vector<std::vector<double>> pure, compute, total, timed_compute, timed_total;
  double asked = 0;
};

double slowest(const std::vector<double>& ranks) {
  return *std::max_element(ranks.begin(), ranks.end());
}

double mean(const std::vector<double>& ranks) {
  return std::accumulate(ranks.begin(), ranks.end(), 0.0) / static_cast<double>(ranks.size());
}

template <class OfRanks>
double median_of(OfRanks of_ranks, const std::vector<std::vector<double>>& samples) {
  std::vector<double> iterations;
  for (const std::vector<double>& ranks : samples) iterations.push_back(of_ranks(ranks));
  return median(iterations);
}

double share_not_waited_for(double call, double arithmetic, double both) {
  return 1 - std::max(0.0, both - arithmetic) / call;
}

struct OverlapRow {
  std::string algorithm;
  Plan plan;
  Seconds seconds;

  std::string used() const { return plan.algorithm_text(); }
  double pure() const { return median_of(slowest, seconds.pure); }
  double compute() const { return median_of(slowest, seconds.compute); }
  double total() const { return median_of(slowest, seconds.total); }
  double saved() const { return share_not_waited_for(pure(), compute(), total()); }
  double hidden() const {
    return share_not_waited_for(median_of(mean, seconds.pure), median_of(mean, seconds.timed_compute),
                                median_of(mean, seconds.timed_total));
  }
};

template <class Body>
std::vector<double> timed(Transport& transport, Body body) {
  barrier(transport);
  return of_all_ranks(transport, seconds_of(body));
}

template <class T>
OverlapRow measure_overlap(Transport& transport, const std::string& algorithm, const Problem& problem,
                           const OuterProductOptions& options) {
  const std::size_t n = problem.rows;
  const std::size_t m = problem.columns;
  const std::size_t k = problem.largest_pairs();
  OuterProduct<T> layer(transport, {n, m, k}, {.algorithm = algorithm, .machine = options.machine});
  check_memory(transport, (n * m + k * (n + m)) * sizeof(T) + layer.plan().workspace_bytes);
  const InputFactors<T> own(1, transport.rank(), k, n, m);
  std::vector<T> gradient(n * m);
  const auto start = [&] { return layer.start(own.view(), {gradient.data(), n, m}); };

  start().wait();  // touches memory and makes connections
  std::vector<double> lengths;
  for (int i = 0; i < 5; ++i) lengths.push_back(slowest(timed(transport, [&] { start().wait(); })));
  const double length = median(lengths);
  Arithmetic arithmetic;
  arithmetic.last(transport, length);

  OverlapRow row{algorithm, {}, {}};
  row.seconds.asked = length;
  for (int iteration = 0; iteration < options.protocol.iterations; ++iteration) {
    row.seconds.pure.push_back(timed(transport, [&] { start().wait(); }));
    row.seconds.compute.push_back(timed(transport, [&] { arithmetic.run(); }));
    row.seconds.total.push_back(timed(transport, [&] {
      Pending pending = start();
      arithmetic.run();
      pending.wait();
    }));
    double arithmetic_seconds = 0;
    row.seconds.timed_total.push_back(timed(transport, [&] {
      Pending pending = start();
      arithmetic_seconds = arithmetic.run_for(length);
      pending.wait();
    }));
    row.seconds.timed_compute.push_back(of_all_ranks(transport, arithmetic_seconds));
  }
  row.plan = layer.plan();
  return row;
}

void print_head(const Transport& transport, DataType type) {
  std::cout
      << "# dsop-bench " << version << " outer-product --overlap, " << name(type) << ", " << ranks_and_cores(transport)
      << '\n'
      << "# medians over iterations of the slowest rank's time: of a call alone, of arithmetic alone, of both at "
         "the same time\n"
      << "# saved = 1 - max(0, both - arithmetic) / call\n"
      << "# hidden: the same of the ranks' means, where arithmetic lasts as long as the call by the clock (as OSU)\n"
      << "#    rows     cols  pairs  ranks  algorithm                                call(us)  arithmetic(us)  "
         "    both(us)   saved(%)  hidden(%)\n"
      << std::flush;
}

void print_row(const OverlapRow& row) {
  const Problem& problem = row.plan.problem;
  std::cout << std::setw(9) << problem.rows << std::setw(9) << problem.columns << std::setw(7)
            << problem.largest_pairs() << std::setw(7) << problem.ranks() << "  " << std::left << std::setw(36)
            << row.algorithm << std::right << std::fixed << std::setprecision(1) << std::setw(13) << row.pure() * 1e6
            << std::setw(16) << row.compute() * 1e6 << std::setw(14) << row.total() * 1e6 << std::setw(11)
            << row.saved() * 100 << std::setw(11) << row.hidden() * 100 << '\n';
  if (row.used() != row.algorithm) std::cout << "# " << row.algorithm << " used " << row.used() << '\n';
  if (row.plan.runs_at_wait) std::cout << "# " << row.algorithm << ": started calls run at wait()\n";
  std::cout << std::flush;
}

nlohmann::ordered_json json_line(const OverlapRow& row, const Transport& transport) {
  const Problem& problem = row.plan.problem;
  return {
      {"family", "outer-product-overlap"},
      {"algorithm", row.algorithm},
      {"rows", problem.rows},
      {"columns", problem.columns},
      {"pairs", problem.largest_pairs()},
      {"ranks", problem.ranks()},
      {"dtype", name(problem.type)},
      {"transport", transport.name()},
      {"used", row.used()},
      {"runs_at_wait", row.plan.runs_at_wait},
      {"call_seconds", row.seconds.pure},
      {"arithmetic_seconds", row.seconds.compute},
      {"both_seconds", row.seconds.total},
      {"asked_arithmetic_seconds", row.seconds.asked},
      {"timed_arithmetic_seconds", row.seconds.timed_compute},
      {"timed_both_seconds", row.seconds.timed_total},
      {"saved", row.saved()},
      {"hidden_by_clock", row.hidden()},
      {"machine", row.plan.machine.source},
      {"host", host_facts()},
  };
}

}  // namespace

void benchmark_overlap(Transport& transport, const OuterProductOptions& options) {
  const bool speaks = transport.rank() == 0;
  RowsFile file;
  launch::on_all_ranks(transport, [&] {
    if (is_simulated()) throw Error("--overlap: a simulated rank has no second thread");
    if (speaks) file.open(options.out);
  });
  const std::vector<std::string> algorithms =
      expand_algorithms(transport, options.algorithms, Wire::full, Calls::started);
  launch::on_all_ranks(transport, [&] {
    for (const std::string& algorithm : algorithms)
      if (algorithm == sharded || algorithm == auto_probed || rivals().find(algorithm) != nullptr)
        throw ArgumentError("--algorithm is " + algorithm + ", expected with --overlap what can be started");
  });
  if (speaks) print_head(transport, options.type);
  const auto measure_type = visit(options.type, []<class T>(T) { return measure_overlap<T>; });
  for (const Point& point : options.points) {
    const Problem problem{.rows = point.rows,
                          .columns = point.columns,
                          .pairs = std::vector<std::size_t>(static_cast<std::size_t>(transport.size()), point.pairs),
                          .type = options.type};
    for (const EncodedAlgorithm& asked :
         expand_near(transport, algorithms, {Encoding::dense}, point, options.type, Wire::full, options.machine)) {
      const OverlapRow row = measure_type(transport, asked.algorithm, problem, options);
      if (!speaks) continue;
      print_row(row);
      file.append([&](std::ostream& out) { out << json_text(json_line(row, transport)) << '\n'; });
    }
  }
}

}  // namespace dsop::bench
