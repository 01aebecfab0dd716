// The public functions on machine files: above the families, since a file names their algorithms.
#include <dsop/machine.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include <dsop/errors.hpp>
#include <dsop/problem.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "base/data_type_names.hpp"
#include "base/json_text.hpp"
#include "base/output_file.hpp"
#include "machine/machine_fields.hpp"
#include "machine_text.hpp"

namespace dsop {
namespace {

constexpr int version = 2;  // 1 had no levels, and did not say so

// Of a Machine, without its inner levels, or of a Level.
template <class Owner>
void put_numbers(nlohmann::ordered_json& json, const Owner& owner) {
  for (const NumberField<Owner>& field : number_fields<Owner>) json[std::string(field.name)] = owner.*field.value;
  for (const StepField<Owner>& field : step_fields<Owner>)
    if ((owner.*field.seconds).back() > 0) json[std::string(field.name)] = owner.*field.seconds;
}

nlohmann::ordered_json to_json(const Level& level) {
  nlohmann::ordered_json json{{"nodes", level.nodes}};
  put_numbers(json, level);
  return json;
}

constexpr const char* spread_member = "arithmetic_spread";
constexpr const char* hidden_member = "hidden_share_spread";

nlohmann::ordered_json to_json(const MeasuredOn& on) {
  nlohmann::ordered_json json{
      {"ranks", on.ranks}, {"nodes", on.nodes}, {"threads", on.threads}, {"transport", on.transport}};
  if (on.arithmetic_spread > 0) json[spread_member] = on.arithmetic_spread;
  if (on.hidden_share_spread > 0) json[hidden_member] = on.hidden_share_spread;
  return json;
}

nlohmann::ordered_json to_json(const Winner& winner) {
  return {{"rows", winner.rows},   {"columns", winner.columns},  {"pairs", winner.pairs},
          {"ranks", winner.ranks}, {"dtype", name(winner.type)}, {"algorithm", winner.algorithm}};
}

[[noreturn]] void refuse(const std::string& field, const nlohmann::json& value, const std::string& expected) {
  throw Error(field + " is " + shown(json_text(value)) + ", expected " + expected);
}

StepSeconds steps_of(const std::string& field, const nlohmann::json& value) {
  const auto is_number = [](const nlohmann::json& step) { return step.is_number(); };
  if (value.is_array() && value.size() == step_bytes.size() && std::all_of(value.begin(), value.end(), is_number)) {
    const auto seconds = value.get<StepSeconds>();
    if (StepField<Machine>::makes_sense(seconds)) return seconds;
  }
  refuse(field, value, std::to_string(step_bytes.size()) + " numbers above 0");
}

template <class Number>
Number whole_number(const std::string& field, const nlohmann::json& value, Number least) {
  constexpr Number most = std::numeric_limits<Number>::max();
  if (!value.is_number_unsigned() || std::cmp_less(value.get<std::uint64_t>(), least) ||
      std::cmp_greater(value.get<std::uint64_t>(), most))
    refuse(field, value,
           std::string("a whole number from ").append(std::to_string(least)) + " to " + std::to_string(most));
  return value.get<Number>();
}

std::string algorithm_of(const std::string& field, const nlohmann::json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const Registry<OuterProductAlgorithm>& known = outer_product_algorithms();
  if (known.find(text.substr(0, text.find('('))) == nullptr) refuse(field, value, "one of " + known.names());
  parse_algorithm(text, field, outer_product_algorithms());  // refuses what can't be a parameter
  return text;
}

// Errors call it `winner`.
Winner winner_of(const std::string& winner, const nlohmann::json& json) {
  constexpr std::array members{"rows", "columns", "pairs", "ranks", "dtype", "algorithm"};
  const auto is_there = [&](const char* member) { return json.contains(member); };
  if (!json.is_object() || json.size() != members.size() || !std::all_of(members.begin(), members.end(), is_there))
    refuse(winner, json, "an object of rows, columns, pairs, ranks, dtype, algorithm and nothing else");
  const nlohmann::json& type = json.at("dtype");
  const auto known = data_type_named(type.is_string() ? type.get<std::string>() : "");
  if (!known) refuse(winner + ".dtype", type, one_of(data_type_names()));
  constexpr std::size_t none = 0;
  return {whole_number(winner + ".rows", json.at("rows"), none),
          whole_number(winner + ".columns", json.at("columns"), none),
          whole_number(winner + ".pairs", json.at("pairs"), none),
          whole_number(winner + ".ranks", json.at("ranks"), 1),
          *known,
          algorithm_of(winner + ".algorithm", json.at("algorithm"))};
}

// Whether `key` is a number or steps of a Machine or of a Level; errors call it `field`.
template <class Owner>
bool read_number(Owner& owner, const std::string& key, const std::string& field, const nlohmann::json& value) {
  for (const NumberField<Owner>& known : number_fields<Owner>)
    if (known.name == key) {
      if (!value.is_number() || !known.makes_sense(value.get<double>())) refuse(field, value, expected(known.allowed));
      owner.*known.value = value.get<double>();
      return true;
    }
  for (const StepField<Owner>& known : step_fields<Owner>)
    if (known.name == key) {
      owner.*known.seconds = steps_of(field, value);
      return true;
    }
  return false;
}

// Errors call it `level`.
Level level_of(const std::string& level, const nlohmann::json& json) {
  if (!json.is_object()) refuse(level, json, "an object of a level's fields");
  Level result;
  for (const auto& [key, value] : json.items())
    if (key == "nodes")
      result.nodes = whole_number(level + ".nodes", value, 1);
    else if (!read_number(result, key, level + '.' + key, value))
      throw Error("unknown field " + level + '.' + shown(key));
  return result;
}

MeasuredOn measured_on_of(const std::string& name, const nlohmann::json& json) {
  constexpr std::array members{"ranks", "nodes", "threads", "transport"};
  const auto is_there = [&](const char* member) { return json.contains(member); };
  const auto spreads =
      static_cast<std::size_t>(is_there(spread_member)) + static_cast<std::size_t>(is_there(hidden_member));
  if (!json.is_object() || json.size() != members.size() + spreads ||
      !std::all_of(members.begin(), members.end(), is_there) || !json.at("transport").is_string())
    refuse(name, json,
           "an object of ranks, nodes, threads, transport (a text), perhaps arithmetic_spread and hidden_share_spread, "
           "and nothing else");
  const auto spread = [&](const char* member, double least, double most, const char* expected) {
    if (!is_there(member)) return 0.0;
    const nlohmann::json& value = json.at(member);
    if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most))
      refuse(name + '.' + member, value, expected);
    return value.get<double>();
  };
  return {whole_number(name + ".ranks", json.at("ranks"), 0),     whole_number(name + ".nodes", json.at("nodes"), 0),
          whole_number(name + ".threads", json.at("threads"), 0), json.at("transport").get<std::string>(),
          spread(spread_member, 1, 1e300, "a number from 1 on"),  spread(hidden_member, 0, 1, "a number from 0 to 1")};
}

void read_field(Machine& machine, const std::string& key, const nlohmann::json& value) {
  if (key == "version" || key == "source" || read_number(machine, key, key, value)) return;
  if (key == "measured_on") {
    machine.measured_on = measured_on_of(key, value);
    return;
  }
  if (key != "inner_levels" && key != "winners") throw Error("unknown field " + shown(key));
  if (!value.is_array()) refuse(key, value, "a list");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string element = key + '[' + std::to_string(i) + ']';
    if (key == "winners")
      machine.winners.push_back(winner_of(element, value[i]));
    else
      machine.inner_levels.push_back(level_of(element, value[i]));
  }
}

// In place of a file that is there when it is whole, so that an interruption leaves the old one.
void write_text(const std::string& path, const std::string& text) {
  std::error_code error;
  const std::filesystem::file_status old = std::filesystem::status(path, error);
  if (std::filesystem::exists(old) && !std::filesystem::is_regular_file(old)) {  // /dev/stdout
    if (!(std::ofstream(path) << text << std::flush)) throw Error(printable(path) + ": can't be written");
    return;
  }
  OutputFile file(path);
  file.stream() << text;
  file.finish();
}

}  // namespace

Machine machine_of_text(const std::string& text, const std::string& what) {
  Machine machine;
  try {
    const nlohmann::json json = parsed_json(text);
    if (!json.is_object()) throw Error("expected a JSON object");
    if (const nlohmann::json of_file = json.value("version", nlohmann::json(1)); of_file != 1 && of_file != version)
      refuse("version", of_file, "1 or " + std::to_string(version));
    for (const auto& [key, value] : json.items()) read_field(machine, key, value);
    check_machine(machine);
    if (json.contains("source") && json.at("source").is_string()) machine.source = json.at("source");
  } catch (const std::exception& failure) {
    throw Error(what + ": " + failure.what());
  }
  return machine;
}

Machine read_machine(const std::string& path) {
  const std::string what = "machine file " + printable(path);
  std::ifstream file(path);
  if (!file) throw Error(what + ": can't be opened");
  std::ostringstream text;
  if (!(text << file.rdbuf())) throw Error(what + ": is empty, or can't be read");
  Machine machine = machine_of_text(text.str(), what);
  machine.source = path;
  return machine;
}

std::string machine_text(const Machine& machine) {
  nlohmann::ordered_json json{{"version", version}};
  put_numbers(json, machine);
  for (const Level& level : machine.inner_levels) json["inner_levels"].push_back(to_json(level));
  for (const Winner& winner : machine.winners) json["winners"].push_back(to_json(winner));
  if (machine.measured_on != MeasuredOn{}) json["measured_on"] = to_json(machine.measured_on);
  json["source"] = machine.source;
  return json_text(json, 2) + '\n';
}

void write_machine(const Machine& machine, const std::string& path) {
  try {
    write_text(path, machine_text(machine));
  } catch (const std::exception& failure) {
    throw Error(std::string("machine file ") + failure.what());
  }
}

}  // namespace dsop
