#include "c/machine.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "c/communicator.hpp"
#include "c/status.hpp"

namespace dsop::c {
namespace {

double& number_of(Machine& machine, const char* name) {
  const std::string_view wanted = name == nullptr ? "" : name;
  std::string known;
  const std::array<std::pair<std::string_view, double*>, 8> numbers{
      {{"latency_seconds", &machine.latency_seconds},
       {"overhead_seconds", &machine.overhead_seconds},
       {"gap_seconds", &machine.gap_seconds},
       {"gap_per_byte_seconds", &machine.gap_per_byte_seconds},
       {"flops_per_second", &machine.flops_per_second},
       {"memory_bytes_per_second", &machine.memory_bytes_per_second},
       {"hidden_share", &machine.hidden_share},
       {"indexed_addition_factor", &machine.indexed_addition_factor}}};
  for (const auto& [known_name, number] : numbers) {
    if (known_name == wanted) return *number;
    known += std::string(known_name) + ", ";
  }
  const std::array<std::pair<std::string_view, StepSeconds*>, 2> steps{
      {{"ring_step_seconds", &machine.ring_step_seconds}, {"exchange_step_seconds", &machine.exchange_step_seconds}}};
  for (const auto& [known_name, seconds] : steps)
    for (std::size_t i = 0; i < seconds->size(); ++i)
      if (std::string(known_name) + "[" + std::to_string(i) + "]" == wanted) return (*seconds)[i];
  throw ArgumentError("name is " + std::string(wanted) + ", expected one of " + known +
                      "ring_step_seconds[0] .. [5], exchange_step_seconds[0] .. [5]");
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
    handle = put(std::make_shared<Machine>(on_threads != 0 ? dsop::default_threads_machine() : Machine{}));
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
    number = number_of(*find<Machine>(machine), name);
  });
}

int dsop_machine_set(dsop_machine machine, const char* name, double value) {
  return returning_status([&] { number_of(*find<Machine>(machine), name) = value; });
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
  return freeing(machine, [&] { take<Machine>(machine); });
}
