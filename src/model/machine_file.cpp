#include <dsop/machine.hpp>

#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include <dsop/errors.hpp>

namespace dsop {
namespace {

struct Field {
  std::string_view name;
  double Machine::*value;
};

constexpr std::array<Field, 6> fields{{{"latency_seconds", &Machine::latency_seconds},
                                       {"overhead_seconds", &Machine::overhead_seconds},
                                       {"gap_seconds", &Machine::gap_seconds},
                                       {"gap_per_byte_seconds", &Machine::gap_per_byte_seconds},
                                       {"flops_per_second", &Machine::flops_per_second},
                                       {"memory_bytes_per_second", &Machine::memory_bytes_per_second}}};

}  // namespace

void check_machine(const Machine& machine) {
  for (const Field& field : fields) {
    const double value = machine.*field.value;
    if (value > 0 && std::isfinite(value)) continue;
    std::ostringstream text;
    text << "machine." << field.name << " is " << value << ", expected a finite number above 0";
    throw ArgumentError(text.str());
  }
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
    for (const Field& field : fields) {
      if (field.name != key) continue;
      known = true;
      if (!value.is_number() || !(value.get<double>() > 0) || !std::isfinite(value.get<double>()))
        throw Error("machine file " + path + ": " + key + " is " + value.dump() + ", expected a number above 0");
      machine.*field.value = value.get<double>();
    }
    if (!known) throw Error("machine file " + path + ": unknown field " + key);
  }
  return machine;
}

void write_machine(const Machine& machine, const std::string& path) {
  nlohmann::ordered_json json;
  for (const Field& field : fields) json[std::string(field.name)] = machine.*field.value;
  json["source"] = machine.source;
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  if (!file.flush()) throw Error("machine file " + path + ": can't be written");
}

}  // namespace dsop
