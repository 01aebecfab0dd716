#include "launch/launch.hpp"

#include <array>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>

#include <dsop/errors.hpp>
#include <dsop/threads.hpp>

#include "launch/mpi_world.hpp"
#include "planning/header.hpp"

namespace dsop::launch {

bool under_mpi_launcher() {
  constexpr std::array names{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
  for (const char* const name : names)
    if (std::getenv(name) != nullptr) return true;
  return false;
}

bool speaks() {
  constexpr std::array names{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  for (const char* const name : names)
    if (const char* const rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
}

int run(std::optional<int> ranks, int default_ranks, const std::function<void(Transport&)>& body) {
  if (under_mpi_launcher()) return run_on_mpi_world(ranks, body);
  try {
    run_on_threads(ranks.value_or(default_ranks), body);
    return 0;
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
  }
  return 1;
}

void on_all_ranks(Transport& transport, const std::function<void()>& body) {
  std::string own_error;
  try {
    body();
  } catch (const std::bad_alloc&) {
    own_error = "out of memory";
  } catch (const std::exception& error) {
    own_error = error.what();
  }
  agree_on_errors(transport, own_error);
}

}  // namespace dsop::launch
