#include "host.hpp"

#include <cstdlib>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include <dsop/product_method.hpp>

#include "base/json_text.hpp"
#include "kernels/blas_info.hpp"
#include "kernels/threads.hpp"
#include "launch/provenance.hpp"
#include "program_version.hpp"
#include "transport/mpi_library.hpp"

namespace dsop::bench {

std::optional<std::string> batch_job() {
  const char* const job = std::getenv("SLURM_JOB_ID");
  return job == nullptr ? std::nullopt : std::optional<std::string>(job);
}

int cores() {
  return static_cast<int>(std::thread::hardware_concurrency());
}

nlohmann::ordered_json host_facts() {
  nlohmann::ordered_json facts{
      {"hostname", host_name()},
      {"cores", cores()},
      {"mpi", mpi_library()},
      {"blas", std::string(kernels::blas_version())},
      {"blas_core", std::string(kernels::blas_core_name())},
      {"threads", kernels::thread_count()},
      {"instructions", std::string(name(best_instruction_set()))},
      {"version", version},
      {"compiler", compiler},
  };
  facts.update(launch::provenance());
  if (is_simulated()) facts["simulated"] = simulation_facts();
  using Variables = std::initializer_list<std::pair<const char*, const char*>>;
  for (const auto& [key, variable] : Variables{{"nodes", "SLURM_JOB_NUM_NODES"},
                                               {"tasks_per_node", "SLURM_TASKS_PER_NODE"},
                                               {"cpus_per_task", "SLURM_CPUS_PER_TASK"}})
    if (const char* const value = std::getenv(variable)) facts["slurm"][key] = value;
  if (const char* const cluster = std::getenv("DSOP_CLUSTER")) facts["cluster"] = cluster;
  return facts;
}

bool data_is_folded() {
  return is_simulated() && simulation_facts().at("folded");
}

std::string ranks_and_cores(const Transport& transport) {
  const std::string ranks = std::to_string(transport.size()) + " ranks (" + transport.name() + "), ";
  if (const nlohmann::ordered_json simulated = simulation_facts(); !simulated.is_null())
    return ranks + "SIMULATED " + json_text(simulated);
  std::string text = ranks + std::to_string(cores()) + " cores on this host";
  if (transport.size() > cores()) text += ": where ranks share cores, arithmetic and copies weigh more than they would";
  return text;
}

}  // namespace dsop::bench
