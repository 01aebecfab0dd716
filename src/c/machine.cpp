#include "c/machine.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <dsop/dsop.hpp>

#include "base/machine_fields.hpp"
#include "base/refuse.hpp"
#include "c/communicator.hpp"
#include "c/status.hpp"

namespace dsop::c {
namespace {

constexpr std::string_view level_count = "inner_levels";
constexpr int most_levels = 64;

[[noreturn]] void refuse_name(std::string_view name) {
  std::string known;
  for (const auto& field : dsop::number_fields<Machine>) known.append(field.name).append(", ");
  dsop::refuse("name", name,
               "one of " + known +
                   "ring_step_seconds[0] .. [5], exchange_step_seconds[0] .. [5], native_allreduce_seconds[0] .. [5], "
                   "inner_levels (how many), inner_levels[0].nodes, inner_levels[0].latency_seconds, ...");
}

// Takes "name[i]" apart; of any other text all is the name.
struct Indexed {
  explicit Indexed(std::string_view text) : name(text.substr(0, text.find('['))) {
    const std::string_view digits = text.substr(std::min(name.size() + 1, text.size()));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    is_indexed = error == std::errc{} && end != digits.data() + digits.size() && *end == ']';
    if (is_indexed) rest = digits.substr(static_cast<std::size_t>(end + 1 - digits.data()));
  }
  std::string_view name;
  std::size_t index = 0;
  std::string_view rest = {};
  bool is_indexed = false;
};

// Null if it has none of that name.
template <class Owner>
double* find_number(Owner& owner, std::string_view name) {
  for (const auto& field : dsop::number_fields<Owner>)
    if (field.name == name) return &(owner.*field.value);
  const Indexed step(name);
  for (const auto& field : dsop::step_fields<Owner>)
    if (field.name == step.name && step.is_indexed && step.rest.empty() && step.index < dsop::step_bytes.size())
      return &(owner.*field.seconds)[step.index];
  return nullptr;
}

// The level that `name` begins with, and what of it; null where it begins with none.
std::pair<dsop::Level*, std::string_view> level_of(Machine& machine, std::string_view name) {
  const Indexed inner(name);
  const bool is_there = inner.name == "inner_levels" && inner.is_indexed && inner.index < machine.inner_levels.size() &&
                        inner.rest.starts_with('.');
  if (!is_there) return {};
  return {&machine.inner_levels[inner.index], inner.rest.substr(1)};
}

double& number_of(Machine& machine, std::string_view name) {
  const auto [level, of_level] = level_of(machine, name);
  double* const number = level != nullptr ? find_number(*level, of_level) : find_number(machine, name);
  if (number == nullptr) refuse_name(name);
  return *number;
}

// Null if that is no level's.
int* nodes_of(Machine& machine, std::string_view name) {
  const auto [level, of_level] = level_of(machine, name);
  return level != nullptr && of_level == "nodes" ? &level->nodes : nullptr;
}

int whole_number(std::string_view name, double value, int most) {
  if (!(value >= 0 && value <= most && value == std::floor(value)))
    dsop::refuse(std::string(name), value, "a whole number from 0 to " + std::to_string(most));
  return static_cast<int>(value);
}

std::string_view text_of(const char* name) {
  return name == nullptr ? "" : name;
}

std::string path_of(const char* path) {
  if (path == nullptr) throw ArgumentError("path is null, expected a file's");
  return path;
}

}  // namespace
}  // namespace dsop::c

using namespace dsop::c;
using dsop::Machine;

int dsop_machine_default(int on_threads, dsop_machine* machine) {
  return returning_status([&] {
    Handle& handle = result(machine, "machine");
    const auto default_machine = std::make_shared<Machine>();
    if (on_threads != 0) *default_machine = dsop::default_threads_machine();
    handle = put(default_machine);
  });
}

int dsop_machine_of(dsop_communicator communicator, dsop_machine* machine) {
  return returning_status([&] {
    dsop::Transport& transport = transport_of(communicator);
    Handle* const handle = prepared(transport, [&] { return &result(machine, "machine"); });
    *handle = put(std::make_shared<Machine>(dsop::machine(transport)));
  });
}

int dsop_machine_read(const char* path, dsop_machine* machine) {
  return returning_status([&] {
    Handle& handle = result(machine, "machine");
    handle = put(std::make_shared<Machine>(dsop::read_machine(path_of(path))));
  });
}

int dsop_machine_write(dsop_machine machine, const char* path) {
  return returning_status([&] { dsop::write_machine(*find<Machine>(machine), path_of(path)); });
}

int dsop_machine_get(dsop_machine machine, const char* name, double* value) {
  return returning_status([&] {
    double& number = result(value, "value");
    const std::string_view wanted = text_of(name);
    const auto of = find<Machine>(machine);
    if (wanted == level_count)
      number = static_cast<double>(of->inner_levels.size());
    else if (const int* const nodes = nodes_of(*of, wanted))
      number = *nodes;
    else
      number = number_of(*of, wanted);
  });
}

int dsop_machine_set(dsop_machine machine, const char* name, double value) {
  return returning_status([&] {
    const std::string_view wanted = text_of(name);
    const auto of = find<Machine>(machine);
    if (wanted == level_count)
      of->inner_levels.resize(static_cast<std::size_t>(whole_number(wanted, value, most_levels)));
    else if (int* const nodes = nodes_of(*of, wanted))
      *nodes = whole_number(wanted, value, std::numeric_limits<int>::max());
    else
      number_of(*of, wanted) = value;
  });
}

int dsop_machine_check(dsop_machine machine) {
  return returning_status([&] { dsop::check_machine(*find<Machine>(machine)); });
}

int dsop_machine_seconds(dsop_machine machine, dsop_type type, size_t bytes, double n, double m, double K,
                         double* message, double* exchange, double* product, double* addition) {
  return returning_status([&] {
    const auto of = find<Machine>(machine);
    const dsop::DataType elements = data_type_of(type);
    dsop::check_machine(*of);
    put_if_wanted(message, of->message_seconds(bytes));
    put_if_wanted(exchange, of->exchange_seconds(bytes));
    put_if_wanted(product, of->product_seconds(n, m, K, elements));
    put_if_wanted(addition, of->addition_seconds(n * m, elements));
  });
}

int dsop_machine_free(dsop_machine machine) {
  return freeing(
      machine, [&] { take<Machine>(machine); }, false);
}
