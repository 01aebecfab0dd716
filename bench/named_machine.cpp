#include "named_machine.hpp"

#include <iostream>
#include <vector>

#include <dsop/problem.hpp>

#include "collect.hpp"
#include "kernels/threads.hpp"
#include "machine_text.hpp"
#include "platform_machines.hpp"

namespace dsop::bench {

Machine named_machine(const std::string& name_or_file) {
  for (const PlatformMachine& known : platform_machines)
    if (known.name == name_or_file) return machine_of_text(std::string(known.json), "machine " + name_or_file);
  return read_machine(name_or_file);
}

void warn_if_not_valid(Transport& transport, const Machine& machine) {
  const std::vector<int> nodes = nodes_of_ranks(transport);
  const std::string warning =
      why_not_valid(machine, transport.size(), nodes, static_cast<int>(kernels::thread_count()));
  if (transport.rank() == 0 && !warning.empty()) std::cerr << "warning: " << warning << '\n';
}

std::string names_of_machines() {
  std::string names;
  for (const PlatformMachine& known : platform_machines) names.append(names.empty() ? "" : ", ").append(known.name);
  return names;
}

}  // namespace dsop::bench
