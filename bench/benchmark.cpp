#include "benchmark.hpp"

#include <algorithm>
#include <iostream>
#include <limits>
#include <numeric>
#include <set>

#include <dsop/errors.hpp>
#include <dsop/threads.hpp>

#include "base/fnv.hpp"
#include "collect.hpp"
#include "critical_path.hpp"
#include "host.hpp"
#include "kernels/threads.hpp"
#include "launch/launch.hpp"
#include "launch/progress_line.hpp"
#include "loops.hpp"
#include "wire.hpp"

namespace dsop::bench {
namespace {

// Hosts that do not share their cores: the emulated cluster's do.
std::size_t count_nodes(Transport& transport) {
  const std::vector<std::size_t> hosts = of_all_ranks(transport, checksum(host_name()));
  return on_emulated_cluster() ? 1 : std::set(hosts.begin(), hosts.end()).size();
}

Traffic busiest_of(Transport& transport, const Traffic& own) {
  return {largest_of_all_ranks(transport, own.messages), largest_of_all_ranks(transport, own.bytes)};
}

// Returns the slowest rank's seconds.
double look_at(Row& row, Watch& watch, const Method& method, bool first) {
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
  if (method.verify) {
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

}  // namespace

void measure(Watch& watch, const Rows& rows, const Method& method,
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
    if (!is_simulated() || method.first_differs) look_at(*row, watch, method, true);
    const double seconds = look_at(*row, watch, method, false);
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
  time_in_turns(watch.transport, contenders, method.protocol, progress);
}

Columns CallRow::call_columns() const {
  return {{"ranks", 7, "ranks", ranks()},
          {"algorithm", -36, "algorithm", label},
          {"median(us)", 13, "", median_seconds(), microseconds},
          {"predicted(us)", 15, "predicted_seconds", or_null(predicted_seconds), microseconds}};
}

Columns CallRow::traffic_columns() const {
  return {{"sent(B)", 13, "bytes_sent", busiest ? Json(busiest->bytes) : Json()},
          {"msgs", 7, "messages_sent", busiest ? Json(busiest->messages) : Json()}};
}

Columns CallRow::comparison_columns() const {
  return {{"x base", 9, "", base != nullptr ? Json(base->median_seconds() / median_seconds()) : Json(), two_decimals},
          {"#wrong", 9, "wrong", or_null(wrong)}};
}

Column CallRow::busbw_column(int width) const {
  return {"busbw(GB/s)", width, "busbw", bus_bytes / median_seconds(), {1e-9, 3}};
}

Columns CallRow::call_fields() const {
  const auto one_or_null = [](const auto& repetitions) { return repetitions.empty() ? Json() : Json(repetitions[0]); };
  const Interval interval = samples.interval(0);
  const bool split = !samples.message_seconds.empty();
  Columns fields{
      field("used", used),
      field("dtype", name(asked_for.type)),
      field("transport", watch.transport.name()),
      field("wire", name(asked_for.wire)),
      field("agreement_messages", agreement_messages),
      busbw_column(),
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
  return fields;
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

void benchmark(Transport& transport, const Family& family, const Method& method, const std::string& out,
               const std::vector<Input>& inputs) {
  const bool speaks = transport.rank() == 0;
  std::optional<RowsFile> file;
  launch::on_all_ranks(transport, [&] { file.emplace(speaks ? out : ""); });
  Json host = host_facts();
  host["nodes"] = count_nodes(transport);
  if (speaks) print_head(std::cout, family);
  std::size_t wrong = 0;
  launch::ProgressLine progress(speaks);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string place = "[" + std::to_string(i + 1) + "/" + std::to_string(inputs.size()) + "] " + inputs[i].text;
    const auto show = [&](const std::string& what) { progress.show(place + ": " + what); };
    Watch watch(transport);
    const Rows rows = inputs[i].rows(watch);
    const auto base = std::ranges::find_if(rows, [&](const auto& row) {
      return row->label.substr(0, row->label.find(':')) == family.base;  // without encoding and wire
    });
    for (const auto& row : rows) row->base = base == rows.end() ? nullptr : base->get();
    measure(watch, rows, method, show);
    for (const auto& row : rows) wrong += row->wrong.value_or(0);
    if (!speaks) continue;
    progress.clear();
    print_rows(std::cout, family, rows, i == 0);
    file->append([&](std::ostream& stream) { write_rows(stream, family, rows, host); });
  }
  launch::on_all_ranks(transport, [&] {
    if (wrong > 0) throw Error(std::to_string(wrong) + " elements are wrong");
  });
}

void benchmark_loops(Family family, const LoopOptions& options, const std::vector<Input>& inputs) {
  family.name_key = "benchmark";
  const Method method{.protocol = {.iterations = static_cast<int>(options.iterations)},
                      .verify = true,
                      .turns = Method::Turns::of_each};
  const auto body = [&](Transport& alone) { benchmark(alone, family, method, options.out, inputs); };
  run_on_threads(1, body, static_cast<int>(kernels::thread_count()));
}

Columns loop_fields(const Row& row) {
  return {field("calls_per_sample", row.samples.runs_a_turn), field("seconds", row.samples.observations())};
}

}  // namespace dsop::bench
