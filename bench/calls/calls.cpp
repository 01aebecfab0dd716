// What dsop's calls cost: see --help, scripts/calls and docs/calls.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>

#include "calls.hpp"

namespace calls {
namespace {

constexpr const char* usage = R"(Usage: calls [--json] [--seconds S] [SCENE...]

What dsop's calls cost on the ranks that mpirun started; without a SCENE, all of them:
  outer_product_run   OuterProduct::run and dsop() beside MPI_Allreduce of as many bytes, one pair a rank
  two_shapes_by_turns dsop() for two layers by turns beside an OuterProduct object for each
  changing_pairs      1 to 8 pairs, drawn anew on each rank for each call, beside 4 or 5 that stay
  agreement           messages and bytes of one call in the steady state, of the rank that sends most
  planning            one plan of each family for 64 and for 1024 ranks, each rank by itself

--seconds S   how long each group of calls that take turns is measured (default 1)
--json        one JSON object a row instead of a table
)";

struct Scene {
  const char* name;
  void (*run)(const Options&);
};
constexpr std::array<Scene, 5> all_scenes{{{"outer_product_run", outer_product_run},
                                           {"two_shapes_by_turns", two_shapes_by_turns},
                                           {"changing_pairs", changing_pairs},
                                           {"agreement", agreement},
                                           {"planning", planning}}};

struct Task {
  Options options = {};
  std::vector<Scene> scenes = {};
};

double number_above_0(const char* text) {
  char* end = nullptr;
  const double number = text == nullptr ? 0 : std::strtod(text, &end);
  if (!(number > 0) || *end != 0 || !std::isfinite(number))
    throw std::invalid_argument(std::string("--seconds is \"") + (text == nullptr ? "" : text) +
                                "\", expected a number above 0");
  return number;
}

Task parse(int argc, char** argv) {
  Task task;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto* const scene =
        std::find_if(all_scenes.begin(), all_scenes.end(), [&](const Scene& known) { return argument == known.name; });
    if (argument == "--json")
      task.options.json = true;
    else if (argument == "--seconds")
      task.options.seconds = number_above_0(argv[++i]);  // null after the last
    else if (scene != all_scenes.end())
      task.scenes.push_back(*scene);
    else
      throw std::invalid_argument("unknown argument " + argument +
                                  ", expected --json, --seconds S or a scene; see --help");
  }
  if (task.scenes.empty()) task.scenes.assign(all_scenes.begin(), all_scenes.end());
  return task;
}

int run(int argc, char** argv) {
  Task task;
  try {
    task = parse(argc, argv);
  } catch (const std::invalid_argument& error) {
    if (rank_of_this() == 0) std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
  print_head(task.options);
  for (const Scene& scene : task.scenes) scene.run(task.options);
  return 0;
}

}  // namespace
}  // namespace calls

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (const std::string argument = argv[i]; argument == "--help" || argument == "-h") {
      std::fputs(calls::usage, stdout);
      return 0;
    }
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    status = calls::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  MPI_Finalize();
  return status;
}
