#include "info.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include <dsop/algorithms.hpp>
#include <dsop/plan.hpp>

#include "base/json_text.hpp"
#include "compare/rival.hpp"
#include "contenders.hpp"
#include "host.hpp"
#include "kernels/blas_info.hpp"
#include "kernels/openmp_of_process.hpp"
#include "types.hpp"

namespace dsop::bench {

namespace {

void print_table(std::span<const AlgorithmDescription> lines, bool markdown) {
  if (markdown)
    std::cout << "| family | name | what it does | source |\n| --- | --- | --- | --- |\n";
  else
    std::cout << "# family         name                                  what it does  [source]\n";
  for (const AlgorithmDescription& line : lines) {
    if (markdown)
      std::cout << "| " << line.family << " | `" << line.name << "` | " << line.summary << " | " << line.source
                << " |\n";
    else
      std::cout << std::left << std::setw(17) << line.family << std::setw(42) << line.name << ' ' << line.summary
                << "  [" << line.source << "]\n";
  }
}

}  // namespace

void print_list(bool markdown) {
  std::vector<AlgorithmDescription> lines = describe_algorithms();
  for (const Rival& rival : rivals()) lines.push_back({"external", rival.name, rival.summary, rival.source});
  const auto published = std::stable_partition(lines.begin(), lines.end(),
                                               [](const AlgorithmDescription& line) { return !line.published; });
  print_table({lines.begin(), published}, markdown);
  std::cout << (markdown ? "\n" : "\n# ")
            << "Forms that exist to be compared with the papers alone, which `auto` never takes:\n"
            << (markdown ? "\n" : "");
  print_table({published, lines.end()}, markdown);
}

void print_info(Transport& transport, const std::optional<Machine>& machine) {
  std::vector<Plan> plans;
  for (const std::size_t side : {1000UL, 4000UL})
    for (const std::size_t pairs : {1UL, 32UL, 512UL})
      plans.push_back(predict(transport, {side, side, pairs}, DataType::f32, Wire::full, machine));
  if (transport.rank() != 0) return;
  const nlohmann::ordered_json facts = host_facts();
  for (const auto& [key, value] : facts.items())
    std::cout << std::left << std::setw(14) << key << (value.is_string() ? value.get<std::string>() : json_text(value))
              << '\n';
  std::cout << std::setw(14) << "blas_threads" << kernels::blas_threading() << '\n'
            << std::setw(14) << "openmp" << kernels::openmp_in_use() << '\n';
  for (const std::string& path : kernels::loaded_openmp())
    std::cout << std::setw(14) << "openmp loaded" << path << '\n';
  std::cout << std::setw(14) << "ranks" << ranks_and_cores(transport) << '\n'
            << std::setw(14) << "own kernel" << inner_dimensions_of_our_kernel() << "\n\n";

  for (const Plan& plan : plans) std::cout << plan << '\n';
}

}  // namespace dsop::bench
