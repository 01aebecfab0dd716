// In a build without OpenMP: the OpenMP that the process has, if it has one, else threads of our own.
#include "kernels/threads.hpp"

#include <utility>

#include "kernels/openmp_of_process.hpp"

namespace dsop::kernels {
namespace {

thread_local int wanted = 0;  // threads, of which OpenMP, perhaps not there yet, does not know

const OpenMp* openmp() {
  const OpenMp* const found = openmp_of_process();
  if (found != nullptr && wanted != 0) found->set_num_threads(std::exchange(wanted, 0));
  return found;
}

}  // namespace

std::size_t thread_count() {
  if (const OpenMp* const found = openmp()) return static_cast<std::size_t>(found->max_threads());
  static const int unless_told = threads_unless_told();
  return static_cast<std::size_t>(wanted != 0 ? wanted : unless_told);
}

void set_thread_count(int threads) {
  wanted = threads;
}

void run_team(std::size_t threads, TeamBody body) {
  const OpenMp* const found = openmp();
  if (found == nullptr) return run_on_own_threads(threads, body);
  std::pair job{body, found};
  const auto of_thread = [](void* data) {
    const auto& [of_team, functions] = *static_cast<decltype(job)*>(data);
    of_team.call(of_team.data, static_cast<std::size_t>(functions->thread_num()),
                 static_cast<std::size_t>(functions->num_threads()));
  };
  found->parallel(of_thread, &job, static_cast<unsigned>(threads), 0);
}

}  // namespace dsop::kernels
