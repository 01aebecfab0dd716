// What concerns the library as a whole.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <dsop/algorithms.hpp>
#include <dsop/product_method.hpp>

#include "base/error_of.hpp"
#include "base/json_text.hpp"
#include "c/handles.hpp"
#include "c/mpi_world.hpp"
#include "c/status.hpp"
#include "kernels/blas_info.hpp"
#include "kernels/openmp_of_process.hpp"
#include "kernels/threads.hpp"
#include "transport/launcher.hpp"
#include "transport/mpi_library.hpp"

#define DSOP_TEXT_OF(x) #x
#define DSOP_TEXT(x) DSOP_TEXT_OF(x)

namespace {

using namespace dsop::c;

const std::vector<dsop::AlgorithmDescription>& algorithms() {
  static const std::vector<dsop::AlgorithmDescription> all = dsop::describe_algorithms();
  return all;
}

}  // namespace

const char* dsop_version(void) {
  return DSOP_TEXT(DSOP_VERSION_MAJOR) "." DSOP_TEXT(DSOP_VERSION_MINOR) "." DSOP_TEXT(DSOP_VERSION_PATCH);
}

int dsop_init(void) {
  return returning_status([] { start_mpi(); });
}

int dsop_finalize(void) {
  return freeing(1, [] { end_mpi(); });
}

void dsop_abort(int exit_status) {
  end_all_ranks(exit_status);
}

int dsop_info(const char** text) {
  return returning_status([&] {
    nlohmann::ordered_json info{
        {"version", dsop_version()}, {"mpi", nullptr}, {"mpi_error", nullptr}, {"mpi_initialized", mpi_runs()}};
    if (dsop::mpi_is_open()) {
      info["mpi"] = dsop::mpi_library();
      const std::string mpi_error = dsop::error_of(dsop::open_mpi);
      if (!mpi_error.empty()) info["mpi_error"] = mpi_error;
    }
    info["mpi_launcher"] = dsop::under_mpi_launcher();
    info["started_without_mpi"] = nullptr;
    if (const auto started = dsop::started_without_mpi())
      info["started_without_mpi"] = {{"rank", started->rank}, {"ranks", started->ranks}, {"names", started->names}};
    info["blas"] = dsop::kernels::blas_version();
    info["blas_core"] = dsop::kernels::blas_core_name();
    info["blas_keeps_up"] =
        !dsop::kernels::has_blas() || dsop::kernels::blas_keeps_up_with(dsop::best_instruction_set());
    info["instruction_set"] = dsop::name(dsop::best_instruction_set());
    info["threads"] = dsop::kernels::thread_count();
    info["openmp"] = dsop::kernels::openmp_in_use();
    info["openmp_runtimes"] = dsop::kernels::loaded_openmp();
    result(text, "text") = keep_text(dsop::json_text(info));
  });
}

int dsop_set_interrupt(int (*interrupted)(void)) {
  return returning_status([&] { dsop::set_interrupt_check(interrupted); });
}

int dsop_algorithm_count(size_t* count) {
  return returning_status([&] { result(count, "count") = algorithms().size(); });
}

int dsop_algorithm_describe(size_t index, const char** family, const char** name, const char** summary,
                            const char** source) {
  return returning_status([&] {
    if (index >= algorithms().size())
      throw dsop::ArgumentError("index is " + std::to_string(index) + ", expected less than " +
                                std::to_string(algorithms().size()));
    const dsop::AlgorithmDescription& algorithm = algorithms()[index];
    put_if_wanted(family, algorithm.family.c_str());
    put_if_wanted(name, algorithm.name.c_str());
    put_if_wanted(summary, algorithm.summary.c_str());
    put_if_wanted(source, algorithm.source.c_str());
  });
}
