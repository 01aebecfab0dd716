#include "transport/launcher.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace dsop {
namespace {

// Empty where the variable is missing or holds something else.
std::optional<int> number_in(const char* name) {
  const char* const variable = std::getenv(name);
  if (variable == nullptr) return {};
  const std::string_view text(variable);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

}  // namespace

bool under_mpi_launcher() {
  if (std::getenv("TORCHELASTIC_RUN_ID") != nullptr) return false;  // that of whoever has started torchrun
  constexpr std::array names{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
  for (const char* const name : names)
    if (std::getenv(name) != nullptr) return true;
  return false;
}

std::string StartedProcess::text() const {
  return names + " say that this process is rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
         ", and no MPI launcher has started it";
}

std::optional<StartedProcess> started_without_mpi() {
  // Slurm's batch scripts have SLURM_NTASKS and SLURM_PROCID too, and are alone.
  constexpr std::array<std::array<const char*, 2>, 2> pairs{
      {{"RANK", "WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}};
  if (under_mpi_launcher()) return {};
  for (const auto& [rank_name, ranks_name] : pairs) {
    const std::optional<int> rank = number_in(rank_name);
    const std::optional<int> ranks = number_in(ranks_name);
    if (rank && ranks && *ranks > 1)
      return StartedProcess{*rank, *ranks, std::string(rank_name) + " and " + ranks_name};
  }
  return {};
}

}  // namespace dsop
