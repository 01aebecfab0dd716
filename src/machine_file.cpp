// The public functions on machine files: above the families, since a file names their algorithms.
#include <dsop/machine.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include <dsop/errors.hpp>
#include <dsop/problem.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "base/data_type_names.hpp"
#include "base/output_file.hpp"

namespace dsop {
namespace {

bool is_positive(double number) {
  return number > 0 && std::isfinite(number);
}

struct Field {
  std::string_view name;
  double Machine::*value;
  bool is_share = false;

  bool makes_sense(double number) const { return is_share ? number >= 0 && number <= 1 : is_positive(number); }
  const char* expected() const { return is_share ? "a number from 0 to 1" : "a finite number above 0"; }
};

constexpr std::array<Field, 8> fields{{{"latency_seconds", &Machine::latency_seconds},
                                       {"overhead_seconds", &Machine::overhead_seconds},
                                       {"gap_seconds", &Machine::gap_seconds},
                                       {"gap_per_byte_seconds", &Machine::gap_per_byte_seconds},
                                       {"flops_per_second", &Machine::flops_per_second},
                                       {"memory_bytes_per_second", &Machine::memory_bytes_per_second},
                                       {"hidden_share", &Machine::hidden_share, true},
                                       {"indexed_addition_factor", &Machine::indexed_addition_factor}}};

struct StepField {
  std::string_view name;
  StepSeconds Machine::*seconds;
};

constexpr std::array<StepField, 2> step_fields{
    {{"ring_step_seconds", &Machine::ring_step_seconds}, {"exchange_step_seconds", &Machine::exchange_step_seconds}}};

// Steps that were not measured are all zero.
bool make_sense(const StepSeconds& seconds) {
  return std::all_of(seconds.begin(), seconds.end(), is_positive) || seconds == StepSeconds{};
}

nlohmann::ordered_json to_json(const Winner& winner) {
  return {{"rows", winner.rows},   {"columns", winner.columns},  {"pairs", winner.pairs},
          {"ranks", winner.ranks}, {"dtype", name(winner.type)}, {"algorithm", winner.algorithm}};
}

[[noreturn]] void refuse(const std::string& field, const nlohmann::json& value, const std::string& expected) {
  throw Error(field + " is " + value.dump() + ", expected " + expected);
}

StepSeconds steps_of(const std::string& field, const nlohmann::json& value) {
  const auto is_number = [](const nlohmann::json& step) { return step.is_number(); };
  if (value.is_array() && value.size() == step_bytes.size() && std::all_of(value.begin(), value.end(), is_number)) {
    const auto seconds = value.get<StepSeconds>();
    if (make_sense(seconds)) return seconds;
  }
  refuse(field, value, std::to_string(step_bytes.size()) + " numbers above 0");
}

template <class Number>
Number whole_number(const std::string& field, const nlohmann::json& value, Number least) {
  constexpr Number most = std::numeric_limits<Number>::max();
  if (!value.is_number_unsigned() || std::cmp_less(value.get<std::uint64_t>(), least) ||
      std::cmp_greater(value.get<std::uint64_t>(), most))
    refuse(field, value, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
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

void read_field(Machine& machine, const std::string& key, const nlohmann::json& value) {
  for (const Field& field : fields)
    if (field.name == key) {
      if (!value.is_number() || !field.makes_sense(value.get<double>())) refuse(key, value, field.expected());
      machine.*field.value = value.get<double>();
      return;
    }
  for (const StepField& field : step_fields)
    if (field.name == key) {
      machine.*field.seconds = steps_of(key, value);
      return;
    }
  if (key != "winners") throw Error("unknown field " + key);
  if (!value.is_array()) refuse(key, value, "a list");
  for (const nlohmann::json& winner : value)
    machine.winners.push_back(winner_of(key + '[' + std::to_string(machine.winners.size()) + ']', winner));
}

// In place of a file that is there when it is whole, so that an interruption leaves the old one.
void write_text(const std::string& path, const std::string& text) {
  std::error_code error;
  const std::filesystem::file_status old = std::filesystem::status(path, error);
  if (std::filesystem::exists(old) && !std::filesystem::is_regular_file(old)) {  // /dev/stdout
    if (!(std::ofstream(path) << text << std::flush)) throw Error(path + ": can't be written");
    return;
  }
  OutputFile file(path);
  file.stream() << text;
  file.finish();
}

}  // namespace

void check_machine(const Machine& machine) {
  for (const Field& field : fields) {
    const double value = machine.*field.value;
    if (field.makes_sense(value)) continue;
    std::ostringstream text;
    text << "machine." << field.name << " is " << value << ", expected " << field.expected();
    throw ArgumentError(text.str());
  }
  for (const StepField& field : step_fields)
    if (!make_sense(machine.*field.seconds))
      throw ArgumentError("machine." + std::string(field.name) +
                          " has numbers that are not above 0 and finite, expected all so, or all 0");
}

Machine read_machine(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("machine file " + path + ": can't be opened");
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(file);
  } catch (const std::exception& failure) {
    throw Error("machine file " + path + ": not JSON: " + failure.what());
  }
  if (!json.is_object()) throw Error("machine file " + path + ": expected a JSON object");
  Machine machine;
  machine.source = path;
  for (const auto& [key, value] : json.items()) {
    if (key == "source") continue;
    try {
      read_field(machine, key, value);
    } catch (const std::exception& failure) {
      throw Error("machine file " + path + ": " + failure.what());
    }
  }
  return machine;
}

void write_machine(const Machine& machine, const std::string& path) {
  nlohmann::ordered_json json;
  for (const Field& field : fields) json[std::string(field.name)] = machine.*field.value;
  for (const StepField& field : step_fields)
    if ((machine.*field.seconds).back() > 0) json[std::string(field.name)] = machine.*field.seconds;
  for (const Winner& winner : machine.winners) json["winners"].push_back(to_json(winner));
  json["source"] = machine.source;
  try {
    write_text(path, json.dump(2) + '\n');
  } catch (const std::exception& failure) {
    throw Error(std::string("machine file ") + failure.what());
  }
}

}  // namespace dsop
