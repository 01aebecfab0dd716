#include "benchmark.hpp"

#include <algorithm>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include <dsop/errors.hpp>
#include <dsop/threads.hpp>

#include "base/fnv.hpp"
#include "collect.hpp"
#include "critical_path.hpp"
#include "host.hpp"
#include "kernels/threads.hpp"
#include "launch/launch.hpp"
#include "launch/progress_line.hpp"
#include "loop_benchmarks.hpp"
#include "wire.hpp"

namespace dsop::bench {
namespace {

// Ranks of each host that shares its cores with no other: the emulated cluster's do.
std::map<std::size_t, int> ranks_of_nodes(Transport& transport) {
  std::map<std::size_t, int> ranks;
  for (const std::size_t host : of_all_ranks(transport, on_emulated_cluster() ? 0 : checksum(host_name())))
    ++ranks[host];
  return ranks;
}

Traffic busiest_of(Transport& transport, const Traffic& own) {
  return {largest_of_all_ranks(transport, own.messages), largest_of_all_ranks(transport, own.bytes)};
}

// Returns the slowest rank's seconds.
double look_at(Row& row, Watch& watch, const Method& method, bool verify, bool first) {
  Transport& transport = watch.transport;
  row.reset();
  const Traffic before = watch.counted.payload();
  const std::size_t agreed_before = watch.counted.agreement().messages;
  double seconds = 0;
  row.wire_bytes_per_host = wire_bytes(transport, [&] { seconds = seconds_of([&] { row.look(watch.counted); }); });
  const Traffic after = watch.counted.payload();
  const Traffic busiest = busiest_of(transport, {after.messages - before.messages, after.bytes - before.bytes});
  (first ? row.first : row.busiest) = busiest;
  if (first) return seconds;
  row.agreement_messages = watch.counted.agreement().messages - agreed_before;
  row.describe();
  if (verify) {
    struct Count {
      bool known;
      std::size_t wrong;
    };
    const std::optional<std::size_t> own = row.count_wrong();
    for (const auto& [known, wrong] : of_all_ranks(transport, Count{own.has_value(), own.value_or(0)}))
      if (known) row.wrong = row.wrong.value_or(0) + wrong;
  }
  if (method.follows_path && !is_simulated()) {
    CriticalPathTransport bytes(transport);
    CriticalPathTransport messages(transport, PathUnit::messages);
    for (Transport* const path : {&bytes, &messages}) {
      row.reset();
      row.look(*path);
    }
    row.path = busiest_of(transport, {messages.clock(), bytes.clock()});
  }
  if (!row.counted) row.first = row.busiest = row.path = std::nullopt;
  return largest_of_all_ranks(transport, seconds);
}

void find_bases(const Rows& rows) {
  const Row* base = nullptr;
  const Row* mpi = nullptr;
  for (const auto& row : rows) {
    if (row->of_mpi && mpi == nullptr) mpi = row.get();
    if (row->dense && (base == nullptr || row->median_seconds() < base->median_seconds())) base = row.get();
  }
  for (const auto& row : rows) {
    row->base = base;
    row->mpi = mpi;
  }
}

}  // namespace

void measure(Watch& watch, const Rows& rows, const Method& method, const BenchmarkOptions& options,
             const std::function<void(const std::string&)>& progress) {
  std::vector<Contender*> contenders;
  double fastest_seconds = std::numeric_limits<double>::infinity();
  for (const auto& row : rows) {
    row->among = &rows;
    contenders.push_back(row.get());
    // What a rival sends by connections of its own can't be seen.
    if (row->counted) row->message_seconds = [&watch] { return watch.timed.seconds(); };
    progress(row->label + ", first call");
    // It touches memory and makes connections.
    if (!is_simulated() || method.first_differs) look_at(*row, watch, method, options.verify, true);
    const double seconds = look_at(*row, watch, method, options.verify, false);
    fastest_seconds = std::min(fastest_seconds, seconds);
    if (method.turns == Method::Turns::of_each)
      row->runs_a_turn = runs_a_turn(seconds, std::numeric_limits<int>::max());
  }
  for (const auto& row : rows) {
    row->settle();
    // Of a single short call much goes through what links let through at once after a pause, which a loop has used up.
    if (method.turns == Method::Turns::of_fastest && !is_simulated())
      row->runs_a_turn = runs_a_turn(fastest_seconds, 100);
  }
  time_in_turns(watch.transport, contenders, options.protocol, progress);
  find_bases(rows);
}

Columns CallRow::columns() const {
  const auto one_or_null = [](const auto& repetitions) { return repetitions.empty() ? Json() : Json(repetitions[0]); };
  const auto times_as_fast_as = [this](const Row* other) {
    return other != nullptr ? Json(other->median_seconds() / median_seconds()) : Json();
  };
  const auto of_busiest = [this](std::size_t Traffic::*part) { return busiest ? Json((*busiest).*part) : Json(); };
  const Interval interval = samples.interval(0);
  const bool split = !samples.message_seconds.empty();
  const Columns all = input() +
                      Columns{{"ranks", 7, "ranks", ranks()},
                              {"algorithm", -36, "algorithm", label},
                              {"median(us)", 13, "", median_seconds(), microseconds},
                              {"predicted(us)", 15, "predicted_seconds", or_null(predicted_seconds), microseconds}} +
                      results();
  Columns fields{
      {"sent(B)", 13, "bytes_sent", of_busiest(&Traffic::bytes)},
      {"msgs", 7, "messages_sent", of_busiest(&Traffic::messages)},
      {"x base", 9, "x_base", times_as_fast_as(base), times_faster},
      {"x mpi", 9, "x_mpi", times_as_fast_as(mpi), times_faster},
      {"#wrong", 8, "wrong", or_null(wrong)},
      field("base", base != nullptr ? Json(base->label) : Json()),
      field("used", used),
      field("dtype", name(asked_for.type)),
      field("transport", watch.transport.name()),
      field("wire", name(asked_for.wire)),
      field("agreement_messages", agreement_messages),
      field("busbw", bus_bytes / median_seconds()),
      field("repetition", samples.first_repetition),
      field("runs_a_turn", samples.runs_a_turn),
      field("seconds", samples.seconds[0]),
      field("median_interval",
            {{"low", interval.low}, {"high", interval.high}, {"look_confidence", samples.look_confidence}}),
      field("message_seconds", one_or_null(samples.message_seconds)),
      field("selection_seconds", one_or_null(samples.selection_seconds)),
      field("arithmetic_seconds", split ? Json(samples.arithmetic_seconds(0)) : Json()),
  };
  if (!wire_bytes_per_host.empty()) fields.push_back(field("wire_bytes_per_host", wire_bytes_per_host));
  if (const std::optional<std::string> job = batch_job()) fields.push_back(field("job", *job));
  return all + fields;
}

Machine CallRow::planned_for() const {
  return machine_of_calls(watch.transport, asked_for.machine);
}

void check_can_verify(const Transport& transport, const BenchmarkOptions& options, std::size_t largest) {
  const std::size_t most_ranks = (1 << 8) / largest;
  if (options.verify && options.wire == Wire::bf16 && static_cast<std::size_t>(transport.size()) > most_ranks)
    throw ArgumentError("--verify compares with ==, expected --wire full, or at most " + std::to_string(most_ranks) +
                        " ranks, whose sums bf16 holds");
}

void benchmark(Transport& transport, const Family& family, const BenchmarkOptions& options) {
  const bool speaks = transport.rank() == 0;
  std::optional<RowsFile> file;
  launch::on_all_ranks(transport, [&] { file.emplace(speaks ? options.out : ""); });
  Json host = host_facts();
  const std::map<std::size_t, int> nodes = ranks_of_nodes(transport);
  host["nodes"] = nodes.size();
  host["ranks_per_node"] = std::ranges::max_element(nodes, {}, &std::pair<const std::size_t, int>::second)->second;
  if (speaks) print_head(std::cout, family);
  std::size_t wrong = 0;
  StepTimes step;
  launch::ProgressLine progress(speaks);
  for (std::size_t i = 0; i < family.inputs.size(); ++i) {
    const Input& input = family.inputs[i];
    const std::string place =
        "[" + std::to_string(i + 1) + "/" + std::to_string(family.inputs.size()) + "] " + input.text + ": ";
    Watch watch(transport);
    const Rows rows = input.rows(watch);
    measure(watch, rows, family.method, options, [&](const std::string& what) { progress.show(place + what); });
    for (const auto& row : rows) wrong += row->wrong.value_or(0);
    if (!speaks) continue;
    progress.clear();
    print_rows(std::cout, family, rows, i == 0);
    step.add(rows);
    file->append([&](std::ostream& stream) { write_rows(stream, family, rows, host); });
  }
  if (speaks && family.is_one_step) step.print(std::cout);
  launch::on_all_ranks(transport, [&] {
    if (wrong > 0) throw Error(std::to_string(wrong) + " elements are wrong");
  });
}

FunctionRow& add_loop(Rows& rows, const std::string& name, const std::function<void()>& call,
                      const std::function<Columns(const Row&)>& shown) {
  auto row = std::make_unique<FunctionRow>(name);
  FunctionRow& added = *row;
  added.call = call;
  added.shown = shown;
  added.untimed_calls = 1;
  rows.push_back(std::move(row));
  return added;
}

Columns interval_columns(const std::string& title, int width, int interval_width, const Row& row, Print print) {
  const Interval interval = row.samples.interval(0);
  return {{title, width, "", row.median_seconds(), print},
          {"low", interval_width, "", interval.low, print},
          {"high", interval_width, "", interval.high, print}};
}

void benchmark_loops(Family family, const LoopOptions& options) {
  family.name_key = "benchmark";
  family.method.turns = Method::Turns::of_each;
  const BenchmarkOptions all{
      .protocol = {.iterations = static_cast<int>(options.iterations)}, .verify = true, .out = options.out};
  run_on_threads(
      1, [&](Transport& alone) { benchmark(alone, family, all); }, static_cast<int>(kernels::thread_count()));
}

Columns loop_fields(const Row& row) {
  return {field("calls_per_sample", row.samples.runs_a_turn), field("seconds", row.samples.observations())};
}

}  // namespace dsop::bench
