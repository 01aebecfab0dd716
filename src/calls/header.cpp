#include "calls/header.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include <dsop/errors.hpp>

#include "base/fnv.hpp"
#include "base/rank_list.hpp"
#include "calls/agreed_error.hpp"
#include "patterns/bruck_allgather.hpp"
#include "patterns/of_all_ranks.hpp"
#include "transport/call_state.hpp"

namespace dsop {
namespace {

// Each rank's text, and which ranks have it.
std::map<std::string, std::vector<int>> gather_texts(Transport& transport, const std::string& own) {
  using Text = std::array<char, 4096>;
  std::vector<Text> texts(static_cast<std::size_t>(transport.size()), Text{});
  own.copy(texts[static_cast<std::size_t>(transport.rank())].data(), std::tuple_size_v<Text> - 1);
  patterns::bruck_allgather<Text>(transport, texts, Tag::agreement);
  return ranks_by_value(transport.size(),
                        [&](int r) { return std::string(texts[static_cast<std::size_t>(r)].data()); });
}

[[noreturn]] void throw_all_errors(Transport& transport, const std::string& own_error) {
  const std::string& parameter = transport.calls().parameter;
  std::string own;
  if (!own_error.empty() && !parameter.empty()) own.append("parameter ").append(parameter).append(": ");
  auto groups = gather_texts(transport, own.append(own_error));
  groups.erase("");
  std::string message;
  for (const auto& [text, ranks] : groups) {
    if (!message.empty()) message += "; ";
    message.append(list_ranks(ranks)).append(": ").append(text);
  }
  throw AgreedError(message);
}

template <class Number>
std::string exactly(Number number) {
  std::ostringstream text;
  text.precision(17);
  text << number;
  return text.str();
}

const char* name_of_rows(Operation operation) {
  if (operation == Operation::sparse_allreduce) return "dimension";
  if (operation == Operation::topk_allreduce) return "elements";
  if (operation == Operation::make_synchronizer) return "bucket_bytes";
  const bool on_vectors =
      operation == Operation::allreduce || operation == Operation::broadcast || operation == Operation::reduce;
  return on_vectors ? "data.size()" : "rows";
}

std::vector<std::pair<const char*, std::string>> named_values(const CommonTerms& terms) {
  std::string machine;
  for (const double number : terms.machine) machine.append(machine.empty() ? "" : " ").append(exactly(number));
  const bool makes_synchronizer = terms.operation == Operation::make_synchronizer;
  const bool has_policy =
      terms.operation == Operation::register_parameter || terms.operation == Operation::change_policy;
  const bool topk = terms.operation == Operation::topk_allreduce;
  return {
      {"the number of calls before this one", exactly(terms.call)},
      {"the operation", name(terms.operation)},
      {"the order of calls (0: dsop(), i: the OuterProduct that call i made)", exactly(terms.object)},
      {name_of_rows(terms.operation), exactly(terms.rows)},
      {topk ? "k" : "columns", exactly(terms.columns)},
      {"the region's first element", exactly(terms.first)},
      {"the number of regions", exactly(terms.regions)},
      {"the state's step", exactly(terms.step)},
      {"the hash of the state's global threshold and bounds", exactly(terms.state)},
      {"root", exactly(terms.root)},
      {"data type", std::string(name(terms.type))},
      {has_policy ? "policy" : "algorithm", terms.algorithm.data()},
      {"scale", exactly(terms.scale)},
      {makes_synchronizer ? "residual_holds_step" : "accumulate", terms.accumulate ? "true" : "false"},
      {"wire", std::string(name(terms.wire))},
      {"machine (latency, overhead, gap, gap per byte, flops, memory, hidden share, indexed addition, steps)", machine},
      {"the hash of the machine's winners", exactly(terms.winners)},
  };
}

void append_values(std::string& message, const char* what, const std::map<std::string, std::vector<int>>& groups) {
  if (groups.size() == 1) return;
  message.append(message.empty() ? "the ranks disagree: " : "; ").append(what).append(" is ");
  const char* separator = "";
  for (const auto& [value, group] : groups) {
    message.append(separator).append(value.empty() ? "none" : value).append(" on ").append(list_ranks(group));
    separator = ", ";
  }
}

[[noreturn]] void throw_disagreement(Transport& transport, const std::vector<Header>& all) {
  std::string message;
  if (std::any_of(all.begin(), all.end(),
                  [&](const Header& header) { return header.common.parameter != all[0].common.parameter; }))
    append_values(message, "the parameter", gather_texts(transport, transport.calls().parameter));
  const bool same_operation = std::all_of(
      all.begin(), all.end(), [&](const Header& header) { return header.common.operation == all[0].common.operation; });
  constexpr std::size_t up_to_operation = 2;  // what comes after it has another meaning for each
  const std::size_t values = same_operation ? named_values(all[0].common).size() : up_to_operation;
  for (std::size_t v = 0; v < values; ++v)
    append_values(message, named_values(all[0].common)[v].first, ranks_by_value(transport.size(), [&](int r) {
                    return named_values(all[static_cast<std::size_t>(r)].common)[v].second;
                  }));
  throw AgreedError(message);
}

}  // namespace

void describe_machine(const Machine& machine, CommonTerms& terms) {
  terms.machine = {machine.latency_seconds,      machine.overhead_seconds,       machine.gap_seconds,
                   machine.gap_per_byte_seconds, machine.flops_per_second,       machine.memory_bytes_per_second,
                   machine.hidden_share,         machine.indexed_addition_factor};
  auto* const steps =
      std::copy(machine.ring_step_seconds.begin(), machine.ring_step_seconds.end(), terms.machine.begin() + 8);
  std::copy(machine.exchange_step_seconds.begin(), machine.exchange_step_seconds.end(), steps);
  terms.winners = 0;
  const auto take_in = [&](std::uint64_t number) { terms.winners = fnv(terms.winners, number); };
  for (const Winner& winner : machine.winners) {
    take_in(winner.rows);
    take_in(winner.columns);
    take_in(winner.pairs);
    take_in(static_cast<std::uint64_t>(winner.ranks));
    take_in(static_cast<std::uint64_t>(winner.type));
    take_in(std::hash<std::string>()(winner.algorithm));
  }
}

void exchange_headers(Transport& transport, const Header& own, const std::string& own_error, std::vector<Header>& all) {
  all.resize(static_cast<std::size_t>(transport.size()));
  Header& mine = all[static_cast<std::size_t>(transport.rank())];
  mine = own;
  mine.own.failed = !own_error.empty();
  patterns::bruck_allgather<Header>(transport, all, Tag::agreement);

  if (std::any_of(all.begin(), all.end(), [](const Header& header) { return header.own.failed; }))
    throw_all_errors(transport, own_error);
  if (std::any_of(all.begin(), all.end(), [&](const Header& header) { return header.common != all[0].common; }))
    throw_disagreement(transport, all);
}

void agree_on_errors(Transport& transport, const std::string& own_error) {
  const std::vector<char> failed = patterns::of_all_ranks<char>(transport, own_error.empty() ? 0 : 1);
  if (std::any_of(failed.begin(), failed.end(), [](char flag) { return flag != 0; }))
    throw_all_errors(transport, own_error);
}

}  // namespace dsop
