// Which threads kernels run on: the process's OpenMP, whatever it is called, or threads of our own.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernels/openmp_of_process.hpp"
#include "kernels/threads.hpp"
#include "product_cases.hpp"

namespace {

using namespace dsop::tests;
using namespace dsop;

bool uses_own_threads() {
  return kernels::openmp_in_use() == "threads of its own";
}

std::vector<std::thread::id> team_of(std::size_t threads) {
  std::vector<std::thread::id> ids(threads);
  kernels::on_threads(threads, [&](std::size_t t, std::size_t team) {
    if (team == ids.size()) ids[t] = std::this_thread::get_id();
  });
  return ids;
}

bool product_is_exact() {
  const Matrix<float> a = integers<float>(30, 300, 1), b = integers<float>(30, 400, 2),
                      c = integers<float>(300, 400, 3);
  return product<float>(a, b, c, 1, 1, {}).elements == naive_product<float>(a, b, c, 1, 1).elements;
}

}  // namespace

TEST_CASE("the OpenMP that kernels use is among those that are loaded") {
  const std::vector<std::string> loaded = kernels::loaded_openmp();
  CHECK(uses_own_threads() == loaded.empty());
  CHECK((uses_own_threads() || std::ranges::find(loaded, kernels::openmp_in_use()) != loaded.end()));
}

TEST_CASE("a team has as many threads as it is asked for, and the caller is the first") {
  CHECK(kernels::thread_count() == 3);  // by OMP_NUM_THREADS
  const auto ids = team_of(4);
  CHECK(std::set(ids.begin(), ids.end()).size() == 4);
  CHECK(ids[0] == std::this_thread::get_id());
  CHECK(team_of(4) == ids);
  CHECK(product_is_exact());
}

TEST_CASE("each thread has a team of its own") {
  std::vector<std::jthread> callers;
  std::atomic<int> right = 0;
  for (int caller = 1; caller <= 4; ++caller)
    callers.emplace_back([caller, &right] {
      kernels::set_thread_count(caller);
      for (int call = 0; call < 100; ++call) {
        std::vector<int> came(static_cast<std::size_t>(caller));
        kernels::on_threads(kernels::thread_count(),
                            [&](std::size_t t, std::size_t team) { came.at(t) += team == came.size(); });
        right += came == std::vector<int>(came.size(), 1);
      }
    });
  callers.clear();
  CHECK(right == 400);
  CHECK(kernels::thread_count() == 3);
}

TEST_CASE("a forked child makes threads of its own, and ends") {
  if (!uses_own_threads()) {
    std::cout << "skipped 1 of 1: a forked child of a process with an OpenMP\n";
    return;
  }
  CHECK(product_is_exact());
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::exit(product_is_exact() && team_of(3)[2] != std::thread::id() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(product_is_exact());
}

// As PyTorch's wheels for GPUs call theirs.
TEST_CASE("kernels use an OpenMP that is loaded later, and has another name") {
  const std::filesystem::path libgomp = std::getenv("DSOP_TEST_LIBGOMP");
  if (!uses_own_threads() || !exists(libgomp)) {
    std::cout << "skipped 1 of 1: a renamed OpenMP; there is " << (exists(libgomp) ? "one from the start\n" : "none\n");
    return;
  }
  std::string folder = std::filesystem::temp_directory_path() / "dsop-openmp-XXXXXX";
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string renamed = folder + "/libgomp-a34b3233.so.1.0.0";
  copy_file(libgomp, renamed);
  kernels::set_thread_count(4);
  void* const openmp = dlopen(renamed.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove_all(folder);
  REQUIRE(openmp != nullptr);
  CHECK(kernels::thread_count() == 4);
  CHECK(kernels::openmp_in_use() == renamed);
  CHECK(kernels::loaded_openmp() == std::vector{renamed});

  reinterpret_cast<void (*)(int)>(dlsym(openmp, "omp_set_num_threads"))(2);
  CHECK(kernels::thread_count() == 2);
  const auto number = reinterpret_cast<int (*)()>(dlsym(openmp, "omp_get_thread_num"));
  std::vector<int> numbers(2);
  kernels::on_threads(2, [&](std::size_t t, std::size_t) { numbers[t] = number(); });
  CHECK(numbers == std::vector{0, 1});
  CHECK(product_is_exact());
}
