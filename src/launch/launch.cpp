#include "launch/launch.hpp"

#include <exception>
#include <iostream>
#include <new>

#include <dsop/errors.hpp>
#include <dsop/threads.hpp>

#include "launch/mpi_world.hpp"
#include "planning/header.hpp"

namespace dsop::launch {

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
