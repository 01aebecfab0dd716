#include <dsop/machine.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include <dsop/errors.hpp>
#include <dsop/problem.hpp>

namespace dsop {
namespace {

struct Field {
  std::string_view name;
  double Machine::*value;
  bool is_share = false;

  bool makes_sense(double number) const {
    return is_share ? number >= 0 && number <= 1 : number > 0 && std::isfinite(number);
  }
  const char* expected() const { return is_share ? "a number from 0 to 1" : "a finite number above 0"; }
};

constexpr std::array<Field, 7> fields{{{"latency_seconds", &Machine::latency_seconds},
                                       {"overhead_seconds", &Machine::overhead_seconds},
                                       {"gap_seconds", &Machine::gap_seconds},
                                       {"gap_per_byte_seconds", &Machine::gap_per_byte_seconds},
                                       {"flops_per_second", &Machine::flops_per_second},
                                       {"memory_bytes_per_second", &Machine::memory_bytes_per_second},
                                       {"hidden_share", &Machine::hidden_share, true}}};

struct StepField {
  std::string_view name;
  StepSeconds Machine::*seconds;
};

constexpr std::array<StepField, 2> step_fields{
    {{"ring_step_seconds", &Machine::ring_step_seconds}, {"exchange_step_seconds", &Machine::exchange_step_seconds}}};

// Steps that were not measured are all zero.
bool make_sense(const StepSeconds& seconds) {
  const auto positive = [](double s) { return s > 0 && std::isfinite(s); };
  return std::all_of(seconds.begin(), seconds.end(), positive) || seconds == StepSeconds{};
}

nlohmann::ordered_json to_json(const Winner& winner) {
  return {{"rows", winner.rows},   {"columns", winner.columns},  {"pairs", winner.pairs},
          {"ranks", winner.ranks}, {"dtype", name(winner.type)}, {"algorithm", winner.algorithm}};
}

Winner winner_of(const nlohmann::json& json) {
  const std::string dtype = json.at("dtype");
  if (dtype != name(DataType::f32) && dtype != name(DataType::f64)) throw Error("dtype is " + dtype);
  if (json.size() != 6) throw Error("expected rows, columns, pairs, ranks, dtype, algorithm and nothing else");
  return {json.at("rows"),
          json.at("columns"),
          json.at("pairs"),
          json.at("ranks"),
          dtype == name(DataType::f32) ? DataType::f32 : DataType::f64,
          json.at("algorithm")};
}

// Whether `key` is a list, which then is read into the machine.
bool read_list(Machine& machine, const std::string& key, const nlohmann::json& value) {
  for (const StepField& field : step_fields)
    if (field.name == key) {
      machine.*field.seconds = value.get<StepSeconds>();
      if (value.size() != step_bytes.size() || !make_sense(machine.*field.seconds))
        throw Error("expected " + std::to_string(step_bytes.size()) + " numbers above 0");
      return true;
    }
  if (key != "winners") return false;
  for (const nlohmann::json& winner : value) machine.winners.push_back(winner_of(winner));
  return true;
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
    bool known = false;
    try {
      known = read_list(machine, key, value);
    } catch (const std::exception& failure) {
      throw Error("machine file " + path + ": " + key + ": " + failure.what());
    }
    for (const Field& field : fields) {
      if (field.name != key) continue;
      known = true;
      if (!value.is_number() || !field.makes_sense(value.get<double>()))
        throw Error("machine file " + path + ": " + key + " is " + value.dump() + ", expected " + field.expected());
      machine.*field.value = value.get<double>();
    }
    if (!known) throw Error("machine file " + path + ": unknown field " + key);
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
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  if (!file.flush()) throw Error("machine file " + path + ": can't be written");
}

}  // namespace dsop
