#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <dsop/dsop.hpp>
#include <dsop/errors.hpp>

#include "collect.hpp"
#include "host.hpp"
#include "inputs.hpp"
#include "kernels/add.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "outer_product.hpp"
#include "statistics.hpp"

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

// What an algorithm's rows take turns with. The table and the file show the first, which looks at the others.
enum Measured : std::size_t { call, arithmetic, both, both_by_clock };

// The median over iterations of the ranks' mean.
double median_mean(const std::vector<std::vector<double>>& samples) {
  std::vector<double> means;
  for (const std::vector<double>& ranks : samples)
    means.push_back(std::accumulate(ranks.begin(), ranks.end(), 0.0) / static_cast<double>(ranks.size()));
  return median(means);
}

double share_not_waited_for(double call, double arithmetic, double both) {
  return 1 - std::max(0.0, both - arithmetic) / call;
}

// `asked_seconds`: of arithmetic by the clock.
Columns shown(const Row& row, const Plan& plan, const std::string& transport, double asked_seconds) {
  const auto all = [&](Measured which) { return (*row.among)[which]->samples.seconds[0]; };
  const auto seconds = [&](Measured which) { return (*row.among)[which]->median_seconds(); };
  const auto& timed_arithmetic = (*row.among)[both_by_clock]->samples.selection_seconds[0];
  const double saved = share_not_waited_for(seconds(call), seconds(arithmetic), seconds(both));
  const double hidden =
      share_not_waited_for(median_mean(all(call)), median_mean(timed_arithmetic), median_mean(all(both_by_clock)));
  return shape_columns(plan.problem) + Columns{{"ranks", 7, "ranks", plan.problem.ranks()},
                                               {"algorithm", -36, "algorithm", row.label},
                                               {"call(us)", 13, "", seconds(call), microseconds},
                                               {"arithmetic(us)", 16, "", seconds(arithmetic), microseconds},
                                               {"both(us)", 14, "", seconds(both), microseconds},
                                               {"saved(%)", 11, "saved", saved, percent},
                                               {"hidden(%)", 11, "hidden_by_clock", hidden, percent},
                                               field("dtype", name(plan.problem.type)),
                                               field("transport", transport),
                                               field("used", row.used),
                                               field("runs_at_wait", plan.runs_at_wait),
                                               field("call_seconds", all(call)),
                                               field("arithmetic_seconds", all(arithmetic)),
                                               field("both_seconds", all(both)),
                                               field("asked_arithmetic_seconds", asked_seconds),
                                               field("timed_arithmetic_seconds", timed_arithmetic),
                                               field("timed_both_seconds", all(both_by_clock)),
                                               field("machine", plan.machine.source)};
}

template <class T>
struct Layer {
  OuterProduct<T> layer;
  InputFactors<T> own;
  std::vector<T> gradient;
  Arithmetic arithmetic = {};
  double arithmetic_seconds = 0;  // by the clock, so far

  Pending start() { return layer.start(own.view(), {gradient.data(), own.view().a.columns, own.view().b.columns}); }
};

template <class T>
Rows rows_of(Watch& watch, const std::string& algorithm, const Point& point, const BenchmarkOptions& options) {
  Transport& transport = watch.transport;
  OuterProduct<T> made(transport, {point.rows, point.columns, point.pairs},
                       {.algorithm = algorithm, .machine = options.machine});
  const std::size_t n = point.rows, m = point.columns, k = point.pairs;
  check_memory(transport, (n * m + k * (n + m)) * sizeof(T) + made.plan().workspace_bytes);
  const auto layer = std::make_shared<Layer<T>>(
      Layer<T>{std::move(made), InputFactors<T>(1, transport.rank(), k, n, m), std::vector<T>(n * m)});
  const auto call_alone = [layer] { layer->start().wait(); };
  call_alone();  // touches memory and makes connections
  std::vector<double> lengths;
  for (int i = 0; i < 5; ++i) lengths.push_back(slowest_seconds(transport, call_alone));
  const double length = median(lengths);
  layer->arithmetic.last(transport, length);

  const auto compute = [layer] { layer->arithmetic.run(); };
  const auto by_clock = [layer, length] { layer->arithmetic_seconds += layer->arithmetic.run_for(length); };
  const auto call_and = [layer](const auto& body) {
    return [layer, body] {
      Pending pending = layer->start();
      body();
      pending.wait();
    };
  };
  const Plan plan = layer->layer.plan();
  Rows rows;
  for (const std::function<void()>& body :
       {std::function<void()>(call_alone), std::function<void()>(compute), std::function<void()>(call_and(compute)),
        std::function<void()>(call_and(by_clock))}) {
    auto row = std::make_unique<FunctionRow>(algorithm);
    row->call = body;
    row->shown = [=, where = transport.name()](const Row& of) { return shown(of, plan, where, length); };
    rows.push_back(std::move(row));
  }
  rows[call]->used = plan.algorithm_text();
  if (plan.runs_at_wait) rows[call]->reason = "started calls run at wait()";
  rows[both_by_clock]->selection_seconds = [layer] { return layer->arithmetic_seconds; };  // a part like any other
  return rows;
}

}  // namespace

void benchmark_overlap(Transport& transport, const OuterProductOptions& options) {
  launch::on_all_ranks(transport, [&] {
    if (is_simulated()) throw Error("--overlap: a simulated rank has no second thread");
  });
  const std::vector<std::string> algorithms =
      expand_algorithms(transport, options.algorithms, Wire::full, Calls::started);
  Family family{
      .name = "outer-product-overlap",
      .title = "outer-product --overlap, " + std::string(name(options.type)) + ", " + ranks_and_cores(transport),
      .notes =
          {"medians over iterations of the slowest rank's time: of a call alone, of arithmetic alone, of both at "
           "the same time",
           "saved = 1 - max(0, both - arithmetic) / call",
           "hidden: the same of the ranks' means, where arithmetic lasts as long as the call by the clock (as OSU)"},
      .one_line = true,
      .one_object = true};
  for (const Point& point : options.points)
    for (const EncodedAlgorithm& asked :
         expand_near(transport, algorithms, {Encoding::dense}, point, options.type, Wire::full, options.machine))
      family.inputs.push_back({text_of(point), [&, point, algorithm = asked.algorithm](Watch& watch) {
                                 return visit(options.type,
                                              [&]<class T>(T) { return rows_of<T>(watch, algorithm, point, options); });
                               }});
  benchmark(transport, family, options);
}

}  // namespace dsop::bench
