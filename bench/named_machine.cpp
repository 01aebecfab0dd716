#include "named_machine.hpp"

#include "machine_text.hpp"
#include "platform_machines.hpp"

namespace dsop::bench {

Machine named_machine(const std::string& name_or_file) {
  for (const PlatformMachine& known : platform_machines)
    if (known.name == name_or_file) return machine_of_text(std::string(known.json), "machine " + name_or_file);
  return read_machine(name_or_file);
}

std::string names_of_machines() {
  std::string names;
  for (const PlatformMachine& known : platform_machines) names.append(names.empty() ? "" : ", ").append(known.name);
  return names;
}

}  // namespace dsop::bench
