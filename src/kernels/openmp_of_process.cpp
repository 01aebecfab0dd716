#include "kernels/openmp_of_process.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <climits>
#include <cstring>
#include <string_view>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace dsop::kernels {
namespace {

constexpr std::array<std::string_view, 3> openmp_names{"libgomp", "libomp", "libiomp5"};

/// Whether the file is `name`.so, with a version, and perhaps with "-" and a digest in between, as in Python's wheels.
bool is_named(std::string_view path, std::string_view name) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with(name) && file.size() > name.size() && (file[name.size()] == '.' || file[name.size()] == '-');
}

/// Calls visit(object) for all that is loaded, until it returns true. No library may be opened within.
template <class Visit>
void visit_loaded(Visit visit) {
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) { return (*static_cast<Visit*>(data))(*object) ? 1 : 0; },
      &visit);
}

/// Leaves `found` as it is where there is none. Allocates nothing: a call may no longer fail.
void find(std::string_view library, OpenMp& found) {
  std::array<char, PATH_MAX> path{};
  visit_loaded([&](const dl_phdr_info& object) {
    const bool is_it = is_named(object.dlpi_name, library);
    if (is_it) std::strncpy(path.data(), object.dlpi_name, path.size() - 1);
    return is_it;
  });
  void* const handle = path[0] == 0 ? nullptr : dlopen(path.data(), RTLD_LAZY | RTLD_NOLOAD);  // it stays loaded now
  const auto take = [&]<class F>(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle, name));
  };
  if (handle == nullptr || dlsym(handle, "GOMP_parallel") == nullptr) return;
  take(found.parallel, "GOMP_parallel");
  take(found.max_threads, "omp_get_max_threads");
  take(found.thread_num, "omp_get_thread_num");
  take(found.num_threads, "omp_get_num_threads");
  take(found.set_num_threads, "omp_set_num_threads");
}

}  // namespace

const OpenMp* openmp_of_process() {
  thread_local OpenMp found{};
  thread_local unsigned long long loads_seen = 0;
  if (found.parallel != nullptr) return &found;
  unsigned long long loads = 0;
  visit_loaded([&](const dl_phdr_info& object) {
    loads = object.dlpi_adds;
    return true;
  });
  if (loads == loads_seen) return nullptr;
  loads_seen = loads;
  find("libtorch_cpu", found);  // symbols are looked for in what it needs too
  for (const std::string_view name : openmp_names)
    if (found.parallel == nullptr) find(name, found);
  return found.parallel == nullptr ? nullptr : &found;
}

std::vector<std::string> loaded_openmp() {
  std::vector<std::string> paths;
  visit_loaded([&](const dl_phdr_info& object) {
    for (const std::string_view name : openmp_names)
      if (is_named(object.dlpi_name, name)) paths.emplace_back(object.dlpi_name);
    return false;
  });
  return paths;
}

std::string openmp_in_use() {
#if defined(_OPENMP)
  const auto function = &omp_get_max_threads;
#else
  const OpenMp* const openmp = openmp_of_process();
  if (openmp == nullptr) return "threads of its own";
  const auto function = openmp->max_threads;
#endif
  Dl_info library{};
  return dladdr(reinterpret_cast<const void*>(function), &library) != 0 ? library.dli_fname
                                                                        : "a library without a name";
}

}  // namespace dsop::kernels
