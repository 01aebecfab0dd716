// Facts about where a number was measured.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include <dsop/transport.hpp>

namespace dsop::bench {

/// hostname, cores, mpi, blas, blas_core, threads, instructions, version, compiler, commit, cpu, date, command; in a
/// Slurm job its nodes, tasks_per_node and cpus_per_task, in Slurm's words; the cluster that DSOP_CLUSTER names, if
/// any.
nlohmann::ordered_json host_facts();

/// "4 ranks (mpi) on 2 cores, ranks share cores"
std::string ranks_and_cores(const Transport& transport);

/// The number of the Slurm job this runs in, if any.
std::optional<std::string> batch_job();

int cores();
std::string host_name();

/// Whether simulated time passes.
bool is_simulated();

/// Whether simulated messages carry no data.
bool data_is_folded();

/// What is simulated and how; null where nothing is.
nlohmann::ordered_json simulation_facts();

}  // namespace dsop::bench
